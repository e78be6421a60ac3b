import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../cache.ts';
import { type CommandResult, runCommand, tryCommand } from '../host/command.ts';
import type { Namespace } from '../host/namespace.ts';
import type { Program } from './programs.ts';

export type Kubectl = {
  readonly kubeconfig: string;
  /** A script that is kubectl with this kubeconfig, in the right network. */
  readonly command: string;
};

export type KubectlOptions = { readonly stdin?: string };

export async function createKubectl(spec: {
  readonly directory: string;
  readonly namespace: Namespace;
  readonly program: Program;
  readonly kubeconfig: string;
}): Promise<Kubectl> {
  const { directory, namespace, program } = spec;
  const kubeconfig = join(directory, 'admin.kubeconfig');
  await writeFile(kubeconfig, spec.kubeconfig, { mode: 0o600 });
  const command = join(directory, 'kubectl');
  // Only the network is entered, so that files named on the command line are the caller's.
  const lines = [
    '#!/bin/sh',
    // No flags: plugins would not get them.
    `export KUBECONFIG='${kubeconfig}' KUBECACHEDIR='${join(directory, 'kubectl-cache')}'`,
    `export PATH='${directory}':"$PATH"`,
    `exec nsenter --net=${namespace.networkPath} -- \\`,
    `  '${[program.path, ...program.words].join("' '")}' "$@"`,
    '',
  ];
  await writeFile(command, lines.join('\n'), { mode: 0o755 });
  await symlink(join(projectDirectory, 'bin/quarry'), join(directory, 'kubectl-quarry'));
  return { kubeconfig, command };
}

export function tryKubectl(
  kubectl: Kubectl,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<CommandResult> {
  return tryCommand([kubectl.command, ...args], options);
}

export function runKubectl(
  kubectl: Kubectl,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<string> {
  return runCommand([kubectl.command, ...args], options);
}
