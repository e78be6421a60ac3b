import assert from 'node:assert/strict';
import test from 'node:test';
import { layoutByHand } from '../layout.ts';
import { findingsIn } from './findings.ts';
import type { Claim, Pod, Seen } from './look.ts';
import { claim, logical, lv, node, on, pod, rest } from './well.ts';

const other = { name: 'other', namespace: 'default', uid: 'claim-2' };
const waits: Claim = {
  metadata: other,
  spec: { storageClassName: 'thick', resources: { requests: { storage: '300Mi' } } },
  status: { phase: 'Pending' },
};
const uses: Pod = {
  metadata: { name: 'uses', namespace: 'default', uid: 'pod-2' },
  spec: { volumes: [{ name: 'other', persistentVolumeClaim: { claimName: 'other' } }] },
  status: { phase: 'Pending' },
};
const [thick] = rest.classes;
const lazy = thick === undefined ? [] : [{ ...thick, volumeBindingMode: 'WaitForFirstConsumer' }];

function asks(storage: string, spec: Partial<Claim['spec']> = {}): Claim {
  return { ...waits, spec: { ...waits.spec, resources: { requests: { storage } }, ...spec } };
}

function pending(one: Claim, change: Partial<Seen> = {}): Partial<Seen> {
  return { claims: [claim, one], ...change };
}

function bound(status: Partial<Claim['status']>, storage = '100Mi'): Partial<Seen> {
  const resources = { requests: { storage } };
  const spec = { ...claim.spec, resources };
  return { claims: [{ ...claim, spec, status: { ...claim.status, ...status } }] };
}

const infeasible = { storage: 'ControllerResizeInfeasible' };
const onNode = { storage: 'NodeResizePending' };
const resizing = [{ type: 'FileSystemResizePending', status: 'True' }];

type Row = {
  readonly what: string;
  readonly change: Partial<Seen>;
  readonly found?: RegExp;
};

const rows: readonly Row[] = [
  {
    what: 'a claim that could have its volume',
    change: pending(waits),
    found: /^claim default\/other is Pending: 314572800 bytes are free on n1$/,
  },
  { what: 'no claim that is larger than all nodes', change: pending(asks('2Gi')) },
  {
    what: 'no claim of another’s class',
    change: pending(asks('300Mi', { storageClassName: 'theirs' })),
  },
  { what: 'no claim that nobody uses yet', change: pending(waits, { classes: lazy }) },
  {
    what: 'a claim that a pod waits for',
    change: pending(waits, { classes: lazy, pods: [pod, uses] }),
    found: /other is Pending: .* free on n1/,
  },
  {
    what: 'no claim of a pod that may not be where room is',
    change: pending(waits, {
      classes: lazy,
      pods: [
        pod,
        { ...uses, spec: { ...uses.spec, nodeSelector: { 'kubernetes.io/hostname': 'n2' } } },
      ],
    }),
  },
  {
    what: 'no claim of a pod that another claim holds up',
    change: {
      claims: [claim, waits, { ...asks('2Gi'), metadata: { ...other, name: 'huge' } }],
      classes: lazy,
      pods: [
        pod,
        {
          ...uses,
          spec: {
            volumes: [
              ...(uses.spec.volumes ?? []),
              { name: 'huge', persistentVolumeClaim: { claimName: 'huge' } },
            ],
          },
        },
      ],
    },
  },
  {
    what: 'no copy of what is not there',
    change: pending(asks('300Mi', { dataSource: { kind: 'PersistentVolumeClaim', name: 'none' } })),
  },
  {
    what: 'a copy of what is there',
    change: pending(asks('300Mi', { dataSource: { kind: 'PersistentVolumeClaim', name: 'data' } })),
    found: /other is Pending/,
  },
  {
    what: 'a size that was asked for and not given',
    change: bound({}, '200Mi'),
    found: /data asks for 209715200 bytes, has 104857600 and is idle/,
  },
  {
    what: 'a growth that a pod waits for',
    change: bound({ allocatedResourceStatuses: onNode }, '200Mi'),
    found: /has 104857600 and is NodeResizePending/,
  },
  {
    what: 'no growth that waits for a pod',
    change: {
      ...bound({ allocatedResourceStatuses: onNode, conditions: resizing }, '200Mi'),
      ...on({ mounts: [], lvs: [{ ...lv, attributes: '-wi-a-----' }] }),
      pods: [],
    },
  },
  {
    what: 'no growth that there is no room for',
    change: bound({ allocatedResourceStatuses: infeasible }, '2Gi'),
  },
  {
    what: 'a growth that is refused although there is room',
    change: bound({ allocatedResourceStatuses: infeasible }, '200Mi'),
    found: /is ControllerResizeInfeasible, and there is room/,
  },
  {
    what: 'no growth of a thick volume with snapshots',
    change: {
      ...bound({ allocatedResourceStatuses: infeasible }, '200Mi'),
      ...on({ lvs: [{ ...lv, attributes: 'owi-ao----' }] }),
    },
  },
  {
    what: 'a growth that is over and still told',
    change: bound({ conditions: resizing }),
    found: /claim default\/data still says FileSystemResizePending/,
  },
  {
    what: 'no condition that is about something else',
    change: bound({ conditions: [{ type: 'ModifyingVolume', status: 'True' }] }),
  },
];

for (const { what, change, found } of rows) {
  test(`the auditor finds ${what}`, () => {
    const findings = findingsIn({ ...rest, ...change }, layoutByHand);
    assert.equal(findings.length, found === undefined ? 0 : 1, findings.join('\n'));
    if (found !== undefined) assert.match(findings[0] ?? '', found);
  });
}

test('the auditor lets a claim wait that somebody named', () => {
  const seen = { ...rest, ...pending(waits) };
  assert.deepEqual(findingsIn(seen, layoutByHand, new Set(['default/other'])), []);
  assert.equal(findingsIn(seen, layoutByHand, new Set(['default/else'])).length, 1);
});

test('the auditor knows that a pod is where its other volume is', () => {
  const both = [...(uses.spec.volumes ?? []), ...(pod.spec.volumes ?? [])];
  const seen: Seen = {
    ...{ ...rest, claims: [claim, waits], classes: lazy },
    pods: [pod, { ...uses, spec: { volumes: both } }],
    logical: [{ ...logical, spec: { ...logical.spec, nodeName: 'n2' } }],
    nodes: [node, { ...node, name: 'n2', lvs: [], mounts: [], pvs: [] }],
  };
  assert.equal(findingsIn(seen, layoutByHand).filter((one) => /other is/.test(one)).length, 0);
});
