// One program for the four parts of Kubernetes that a lab cluster runs:
//
//	kube apiserver|controller-manager|scheduler|kubelet [flags of that program]
//	kube version
//
// One program, because the four share almost all of their code: together they are about a third
// of the size of four separate programs, and are linked once. Our own main, because nobody
// packages these four where the lab can reach them; see go.mod.
//
// Build, with V the version that go.mod names for k8s.io/kubernetes (here v1.N.P):
//
//	V=$(go list -m -f '{{.Version}}' k8s.io/kubernetes); N=${V#v1.}; N=${N%%.*}
//	for p in component-base/version client-go/pkg/version; do
//	  X="$X -X k8s.io/$p.gitVersion=$V -X k8s.io/$p.gitMajor=1 -X k8s.io/$p.gitMinor=$N"
//	done
//	CGO_ENABLED=0 go build -mod=readonly -trimpath -buildvcs=false -p 2 -ldflags "-s -w$X" -o kube .
//
// The result depends on this folder, the flags and the Go version alone, not on where or from which
// commit it is built (-trimpath, -buildvcs=false). -p 2 bounds memory: a compiler or linker takes
// 2 to 3 GB at its peak.
//
// The version is stamped by the linker, since the source does not know it: without the -X flags
// nodes report v0.0.0-master. Both packages hold a copy; the second names clients to the server.
package main

import (
	"context"
	"fmt"
	"os"
	_ "time/tzdata" // CronJob time zones, on hosts without a time zone database

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build info metric
	"k8s.io/component-base/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

const usage = "usage: kube apiserver|controller-manager|scheduler|kubelet [flags], or kube version"

func main() {
	if len(os.Args) < 2 {
		fail("no sub-command")
	}
	// Only the chosen constructor may run: each one registers feature gates for the whole process.
	switch name := os.Args[1]; name {
	case "apiserver":
		run("kube-apiserver", apiserver.NewAPIServerCommand)
	case "controller-manager":
		run("kube-controller-manager", controllermanager.NewControllerManagerCommand)
	case "scheduler":
		run("kube-scheduler", func() *cobra.Command { return scheduler.NewSchedulerCommand() })
	case "kubelet":
		run("kubelet", func() *cobra.Command {
			return kubelet.NewKubeletCommand(context.Background())
		})
	case "version":
		fmt.Println(version.Get().GitVersion)
	default:
		fail(fmt.Sprintf("unknown sub-command %q", name))
	}
}

// run drops the sub-command from os.Args, which is where the four look for their flags. The first
// word becomes the program's usual name: clients send it as their user agent, so audit logs and
// managed fields read as in any other cluster.
func run(program string, command func() *cobra.Command) {
	os.Args = append([]string{program}, os.Args[2:]...)
	os.Exit(cli.Run(command()))
}

func fail(problem string) {
	fmt.Fprintf(os.Stderr, "kube: %s\n%s\n", problem, usage)
	os.Exit(2)
}
