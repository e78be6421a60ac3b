import assert from 'node:assert/strict';
import test from 'node:test';
import { extents } from '../../../test/samples/observed.ts';
import {
  fileSystem,
  mountOf,
  nodeOf,
  published,
  seen,
  targetPath,
} from '../../../test/samples/publications.ts';
import { planFileSystemGrowth } from './growth.ts';
import { nothingDone, type ObservedPublication } from './observed.ts';

const small = fileSystem({ growsToBytes: extents(20) });
const unreadable = { kind: 'unknown', why: 'EIO' } as const;

type Row = readonly [
  title: string,
  observed: Partial<ObservedPublication>,
  next: 'rest' | 'look' | 'grow-file-system' | 'NotPublished',
];

const rows: readonly Row[] = [
  ['a volume that is shown nowhere is refused', { here: [] }, 'NotPublished'],
  ['a raw device is as large as its volume', { here: [nodeOf()] }, 'rest'],
  ['what is read-only stays', { here: [mountOf({ isReadOnly: true })] }, 'rest'],
  ['its size is looked at first', { fileSystem: undefined }, 'look'],
  ['what fills its volume stays', { fileSystem: fileSystem() }, 'rest'],
  ['what is smaller grows', { fileSystem: small }, 'grow-file-system'],
  ['what cannot be read is not said to have grown', { fileSystem: unreadable }, 'grow-file-system'],
  ['nor is what is not found', { fileSystem: { kind: 'none' } }, 'grow-file-system'],
  [
    'what has been tried is told as it ended',
    { fileSystem: unreadable, done: { ...nothingDone, hasTriedToGrow: true } },
    'rest',
  ],
];

for (const [title, observed, next] of rows) {
  test(title, () => {
    const view = seen({}, { here: [mountOf()], ...observed });
    const decision = planFileSystemGrowth({ volume: published, targetPath }, view);
    const { kind } = decision;
    const told = kind === 'step' ? decision.step.kind : kind === 'blocked' ? decision.code : kind;
    assert.equal(told, next);
  });
}
