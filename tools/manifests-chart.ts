import { dump } from 'js-yaml';
import { groups } from '../src/api/crds/logical-volume.ts';
import { manifests } from './manifests-objects.ts';
import {
  defaultResources,
  lvmdOnHost,
  lvmsFlags,
  type Release,
  type Settings,
  usualApiServerPorts,
  webhookFlags,
} from './manifests-settings.ts';

/**
 * The same objects with words of Helm's templates in the place of settings. A word that stands for
 * more than a text is a mark here, and becomes lines of its own.
 */
const settings: Settings = {
  namespace: '{{ .Values.namespace | default .Release.Namespace }}',
  domain: `{{ ternary "${groups.legacy}" "${groups.current}" .Values.useLegacy }}`,
  useLegacy: '{{ ternary "true" "" .Values.useLegacy }}',
  image:
    '{{ .Values.image.repository }}:{{ .Values.image.tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}',
  kubeletRoot: '{{ .Values.kubeletRoot }}',
  lvmdVolume: { MARK_LVMD: null },
  ...{ lvmsFlags: ['MARK_LVMS'], webhookFlags: ['MARK_WEBHOOK'] },
  flags: ['MARK_FLAGS'],
  agentFlags: ['MARK_EXTENDER'],
  apiServerPorts: ['MARK_PORTS'],
  resources: { operator: 'MARK_operator', agent: 'MARK_agent' },
};

const folder = 'charts/quarry';

/** Who writes lvmd.yaml for all nodes makes its groups. */
const hasLvms = '.Values.lvmClusters (not .Values.useLegacy) (not .Values.lvmd.config)';

/** Its kinds are there, or are said to be: a template that is rendered elsewhere sees none. */
const isOpenShift = `or .Values.openshift ${isServed('security.openshift.io/v1')}`;

/** OpenShift has a Prometheus that reads everything; MicroShift has not. */
const hasMonitors = `or .Values.monitoring ${isServed('monitoring.coreos.com/v1')}`;

function isServed(version: string): string {
  return `(.Capabilities.APIVersions.Has "${version}")`;
}

export function chartFiles(release: Release): Readonly<Record<string, string>> {
  const { crds, driver, roles, operator, agent, all, ...more } = manifests(settings);
  const { policy, snapshots, network, monitors, alerts, extender } = more;
  const { lvmsCrds, webhook, webhookOfAll } = more;
  const { constraints, constraintsOfAll, openshiftMetrics } = more;
  const isSingle = '.Values.singleNode';
  const [forOperator, forAgents] = [network.slice(0, 1), network.slice(1)];
  return {
    [`${folder}/Chart.yaml`]: yamlText(chartOf(release)),
    [`${folder}/values.yaml`]: valuesText(release),
    [`${folder}/templates/crds.yaml`]: when('.Values.crds', crds.map(selectableDefinition)),
    [`${folder}/templates/lvms-crds.yaml`]: when(
      `and .Values.crds ${hasLvms}`,
      lvmsCrds.map(keptDefinition),
    ),
    [`${folder}/templates/webhook.yaml`]: [
      when(`and ${hasLvms} (not ${isSingle})`, webhook),
      when(`and ${hasLvms} ${isSingle}`, webhookOfAll),
    ].join('---\n'),
    [`${folder}/templates/driver.yaml`]: template(driver),
    [`${folder}/templates/roles.yaml`]: template(roles),
    [`${folder}/templates/operator.yaml`]: when(`not ${isSingle}`, operator),
    [`${folder}/templates/agent.yaml`]: when(`not ${isSingle}`, agent),
    [`${folder}/templates/all.yaml`]: when(isSingle, all),
    [`${folder}/templates/lvmd.yaml`]: when('.Values.lvmd.config', [lvmdConfigMap]),
    [`${folder}/templates/snapshot-controller.yaml`]: when('.Values.snapshotController', snapshots),
    [`${folder}/templates/policy.yaml`]: when('.Values.nodePolicy', policy),
    [`${folder}/templates/extender.yaml`]: when('.Values.schedulerExtender', extender),
    [`${folder}/templates/network.yaml`]: [
      when(`and .Values.networkPolicies (not ${isSingle})`, forOperator),
      when('.Values.networkPolicies', forAgents),
    ].join('---\n'),
    [`${folder}/templates/monitoring.yaml`]: [
      // Where a ServiceMonitor says the same nothing is to be read twice.
      when(`and .Values.monitoring (not (${isOpenShift}))`, monitors),
      when(`or .Values.monitoring (and (${isOpenShift}) (${hasMonitors}))`, alerts, forPrometheus),
    ].join('---\n'),
    [`${folder}/templates/openshift.yaml`]: [
      when(`and (${isOpenShift}) (not ${isSingle})`, constraints),
      when(`and (${isOpenShift}) ${isSingle}`, constraintsOfAll),
      when(`and (${isOpenShift}) (${hasMonitors})`, openshiftMetrics),
    ].join('---\n'),
  };
}

function chartOf({ version }: Release) {
  return {
    apiVersion: 'v2',
    name: 'quarry',
    description: 'LVM storage for Kubernetes: operator, node agent and CSI driver in one program',
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.29.0-0',
  };
}

type Definition = { readonly metadata: object; readonly spec: object };

/** Without it, uninstalling the chart would delete every LogicalVolume, and each of these its LV. */
function keptDefinition<T extends Definition>(crd: T) {
  const metadata = { ...crd.metadata, annotations: { 'helm.sh/resource-policy': 'keep' } };
  return { ...crd, metadata };
}

function selectableDefinition<T extends Definition>(crd: T) {
  const { versions, ...spec } = crd.spec as {
    readonly versions: readonly object[];
  };
  return {
    ...keptDefinition(crd),
    spec: {
      ...spec,
      versions: versions.map((version) => ({
        ...withoutSelectable(version),
        MARK_SELECTABLE: null,
      })),
    },
  };
}

function withoutSelectable(version: object): object {
  const kept = Object.entries(version).filter(([key]) => key !== 'selectableFields');
  return Object.fromEntries(kept);
}

const lvmdConfigMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'lvmd', namespace: settings.namespace },
  data: { 'lvmd.yaml': 'MARK_CONFIG' },
};

/** Marks, and the lines that they become. */
const blocks: Readonly<Record<string, readonly string[]>> = {
  MARK_FLAGS: ['{{- if .Values.snapshotController }}', '- --snapshot-controller', '{{- end }}'],
  MARK_EXTENDER: ['{{- if .Values.schedulerExtender }}', '- --scheduler-extender', '{{- end }}'],
  MARK_PORTS: [
    '{{- range .Values.apiServerPorts }}',
    '- protocol: TCP',
    '  port: {{ . }}',
    '{{- end }}',
  ],
  MARK_LVMS: ifLvms(lvmsFlags),
  MARK_WEBHOOK: ifLvms(webhookFlags),
  MARK_LVMD: [
    '{{- if .Values.lvmd.config }}',
    'configMap:',
    '  name: lvmd',
    '{{- else }}',
    ...yamlText(lvmdOnHost).trimEnd().split('\n'),
    '{{- end }}',
  ],
  MARK_SELECTABLE: [
    '{{- if semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version }}',
    'selectableFields:',
    '  - jsonPath: .spec.nodeName',
    '{{- end }}',
  ],
};

function ifLvms(flags: readonly string[]): readonly string[] {
  return [`{{- if and ${hasLvms} }}`, ...flags.map((flag) => `- ${flag}`), '{{- end }}'];
}

const values: Readonly<Record<string, string>> = {
  MARK_operator: '.Values.operator.resources',
  MARK_agent: '.Values.agent.resources',
  MARK_CONFIG: '.Values.lvmd.config',
};

function when(
  condition: string,
  objects: readonly object[],
  change = (text: string) => text,
): string {
  return `{{- if ${condition} }}\n${change(template(objects))}{{- end }}\n`;
}

/** Prometheus has templates too, in the same braces. */
function forPrometheus(text: string): string {
  return text.replaceAll(/\{\{ (\$labels\.\w+) \}\}/g, '{{ "{{" }} $1 {{ "}}" }}');
}

/** Names that are made of the domain have no dots: that of a word is done to what it stands for. */
function withDashes(text: string): string {
  const dashed = (word: string) => word.replace(/[^A-Za-z0-9]/g, '-');
  const { legacy, current } = groups;
  const word = `{{ ternary "${dashed(legacy)}" "${dashed(current)}" .Values.useLegacy }}`;
  return text.replaceAll(dashed(settings.domain), word);
}

function template(objects: readonly object[]): string {
  const lines = withDashes(objects.map(yamlText).join('---\n')).split('\n');
  return lines.flatMap(withoutMarks).join('\n');
}

function withoutMarks(line: string): readonly string[] {
  const block =
    /^( *)(MARK_[A-Z]+): null$/.exec(line) ??
    /^( *)- (MARK_(?:FLAGS|EXTENDER|PORTS|LVMS|WEBHOOK))$/.exec(line);
  const [, lead = '', mark = ''] = block ?? [];
  const made = blocks[mark];
  if (made !== undefined) return made.map((one) => `${lead}${one}`);
  const [, before = '', key = '', name = ''] = /^(\s*)([\w.]+): (MARK_\w+)$/.exec(line) ?? [];
  const value = values[name];
  if (value === undefined) return [line];
  const indent = before.length + 2;
  if (name === 'MARK_CONFIG') {
    return [`${before}${key}: |`, `${before}  {{- ${value} | nindent ${indent} }}`];
  }
  return [`${before}${key}:`, `${before}  {{- toYaml ${value} | nindent ${indent} }}`];
}

function yamlText(value: object): string {
  // Never folded: a word of a template must stay in one line.
  return dump(value, { lineWidth: -1, noRefs: true });
}

function valuesText({ image }: Release): string {
  const text = (value: unknown) =>
    yamlText(value as object)
      .trimEnd()
      .replaceAll('\n', '\n    ');
  return `# Made by \`make manifests\`; do not edit: give your own values with --values.

image:
  repository: ${image.repository}
  tag: "${image.tag}"
  # What the tag must be. Empty: whatever the registry has under it.
  digest: "${image.digest}"

# Where everything lives. Empty: the namespace of the release. The agent is privileged: where
# that is not allowed the namespace needs the label pod-security.kubernetes.io/enforce=privileged.
namespace: ""

# The group and driver name that TopoLVM had before, topolvm.cybozu.com. Never change it later:
# volumes bear the name of their driver.
useLegacy: false

# Both roles in one process, for a cluster that has one node and will have no other.
singleNode: false

# The definitions of our kinds. They are kept when the chart is uninstalled.
crds: true

# Volume groups made of bare disks, as an LVMCluster asks for them. Without an LVMCluster nothing is
# made. Not with lvmd.config, which says what the nodes have, and not with useLegacy.
lvmClusters: true

# Kubelet's own directory on the nodes.
kubeletRoot: /var/lib/kubelet

lvmd:
  # The text of lvmd.yaml for all nodes. Empty: every node has its own in /etc/topolvm.
  config: ""

# Keeps an agent to the objects of its own node. Needs Kubernetes 1.30.
nodePolicy: true

networkPolicies: true
# Ports of API servers: 16443 with MicroK8s, 8443 with minikube. Empty: all are allowed.
apiServerPorts: [${usualApiServerPorts.join(', ')}]

# The half of snapshots that a cluster needs once, for all drivers. Most clusters have one already;
# ours does nothing beside another.
snapshotController: false

# TopoLVM's scheduler extender, where kube-scheduler is still told to ask one.
schedulerExtender: false

# What Prometheus reads, and alerts. Needs the kinds of the Prometheus operator. On OpenShift they
# are made wherever these kinds are.
monitoring: false

# What OpenShift and MicroShift need beside the rest. It is made where their kinds are found; say
# true where nobody can look, as with \`helm template\`.
openshift: false

operator:
  resources:
    ${text(defaultResources.operator)}

# No limit: mkfs and lvm count as part of the agent, and a killed lvm leaves volumes suspended.
agent:
  resources:
    ${text(defaultResources.agent)}
`;
}
