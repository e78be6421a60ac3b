import { lvmsGroup } from '../src/api/crds/lvms.ts';
import { groupFinalizerPrefix, wipedAnnotation } from '../src/core/lvm-cluster/marks.ts';
import { releaseAnnotation } from '../src/core/lvm-cluster/release.ts';
import { type Manifest, names, type Settings } from './manifests-settings.ts';

/**
 * An agent that fell into wrong hands reaches no further than its node. RBAC cannot say "its own";
 * the API server can, since it knows from the token on which node a pod runs (Kubernetes 1.30).
 */
export function nodePolicy({ namespace, domain }: Settings): readonly Manifest[] {
  const name = `own-node.${domain}`;
  const account = `system:serviceaccount:${namespace}:${names.agent}`;
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          watched(domain, ['logicalvolumes', 'logicalvolumes/status']),
          watched('', ['nodes']),
          watched('storage.k8s.io', ['csistoragecapacities']),
          watched(lvmsGroup, ['lvmvolumegroups', 'lvmvolumegroupnodestatuses']),
        ],
      },
      matchConditions: [
        { name: 'agent', expression: `request.userInfo.username == ${cel(account)}` },
      ],
      variables: [
        { name: 'node', expression: nodeOfToken },
        // What is deleted has no new object, what is made no old one.
        {
          name: 'objects',
          expression: '[object, oldObject].filter(one, one != null)',
        },
      ],
      validations: validations(domain),
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  };
  return [policy, binding];
}

function validations(domain: string) {
  return [
    {
      expression: "variables.node != ''",
      message: 'the token of this agent names no node: Kubernetes 1.30 or newer is needed',
    },
    {
      expression: onlyFor(
        'logicalvolumes',
        'variables.objects.all(one, one.spec.nodeName == variables.node)',
      ),
      messageExpression: refusal('LogicalVolumes of other nodes'),
    },
    {
      expression: onlyFor(
        'nodes',
        'request.name == variables.node && object.spec == oldObject.spec',
      ),
      messageExpression: refusal('other Nodes, nor the spec of its own'),
    },
    {
      expression: onlyFor(
        'csistoragecapacities',
        `variables.objects.all(one, ${isOfNode(topologyKey(domain))})`,
      ),
      messageExpression: refusal('capacities of other nodes'),
    },
    {
      expression: onlyFor('lvmvolumegroupnodestatuses', 'request.name == variables.node'),
      messageExpression: refusal('reports of other nodes'),
    },
    {
      expression: onlyFor('lvmvolumegroups', onlyOwnMarks),
      messageExpression: refusal('an LVMVolumeGroup, but for the marks of its own node'),
    },
  ];
}

const nodeKey = 'authentication.kubernetes.io/node-name';

const nodeOfToken = [
  `${cel(nodeKey)} in request.userInfo.extra`,
  `? request.userInfo.extra[${cel(nodeKey)}][0]`,
  ": ''",
].join(' ');

function watched(group: string, resources: readonly string[]) {
  return {
    apiGroups: [group],
    apiVersions: ['*'],
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    resources,
  };
}

function onlyFor(resource: string, rule: string): string {
  return `request.resource.resource != ${cel(resource)} || (${rule})`;
}

function refusal(what: string): string {
  return `'the agent of ' + variables.node + ' may not change ${what}'`;
}

/** Its finalizer and the notes of its disks: others see no difference. */
const onlyOwnMarks = [
  "request.operation == 'UPDATE'",
  'has(object.spec) == has(oldObject.spec)',
  '(!has(object.spec) || object.spec == oldObject.spec)',
  `${metaOf('object', 'ownerReferences', '[]')} == ${metaOf('oldObject', 'ownerReferences', '[]')}`,
  `${othersOf('object')} == ${othersOf('oldObject')}`,
  ...[notesIn('object', 'oldObject'), notesIn('oldObject', 'object')],
].join(' && ');

function metaOf(one: string, field: string, none: string): string {
  return `(has(${one}.metadata.${field}) ? ${one}.metadata.${field} : ${none})`;
}

function othersOf(one: string): string {
  const own = `${cel(groupFinalizerPrefix)} + variables.node`;
  return `${metaOf(one, 'finalizers', '[]')}.filter(each, each != ${own})`;
}

/** Every note that one has, but for that of the node itself, the other has too. */
function notesIn(one: string, other: string): string {
  const [here, there] = [one, other].map((each) => metaOf(each, 'annotations', '{}'));
  const own = [wipedAnnotation(''), releaseAnnotation('')]
    .map((prefix) => `key == ${cel(prefix)} + variables.node`)
    .join(' || ');
  return `${here}.all(key, ${own} || (key in ${there} && ${there}[key] == ${here}[key]))`;
}

/** The labels are what the scheduler goes by, and they can never change. */
function isOfNode(key: string): string {
  return [
    ...['has(one.nodeTopology)', 'has(one.nodeTopology.matchLabels)'],
    `${cel(key)} in one.nodeTopology.matchLabels`,
    `one.nodeTopology.matchLabels[${cel(key)}] == variables.node`,
  ].join(' && ');
}

function topologyKey(domain: string): string {
  return `topology.${domain}/node`;
}

function cel(text: string): string {
  return `'${text}'`;
}
