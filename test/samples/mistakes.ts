import assert from 'node:assert/strict';
import test from 'node:test';
import { showProblem } from '../../src/api/decode.ts';
import { decodeNodeFile } from '../../src/api/node-file/decode.ts';
import { show } from '../../src/base/show.ts';

/** A node file with one thing wrong: where that is, and what a person is told to do about it. */
export type Mistake = {
  readonly title: string;
  readonly file: unknown;
  readonly field: string;
  readonly remedy: RegExp;
  /** Usually one mistake is told once; where what follows from it cannot be read, more is told. */
  readonly hasConsequences?: true;
};

export function refusesEach(mistakes: readonly Mistake[]): void {
  for (const { title, file, field, remedy, hasConsequences } of mistakes) {
    test(`refuses ${title}, and says where and what to do`, () => {
      const decoded = decodeNodeFile(file);
      assert.ok(decoded.kind === 'problems', 'the mistake was not found');
      const { problems } = decoded;
      const found = problems.find((problem) => problem.field === field);
      assert.ok(found !== undefined, show(problems));
      assert.match(found.remedy, remedy);
      assert.match(showProblem(found), /^\S.* is .+: .+/);
      if (hasConsequences !== true) assert.equal(problems.length, 1, show(problems));
    });
  }
}

export const goodGroup = { name: 'vg1', devices: { paths: ['/dev/sdb'] } } as const;

export function withGroup(given: object): object {
  return { volumeGroups: [{ ...goodGroup, ...given }] };
}

export function withClass(...given: readonly object[]): object {
  const deviceClasses = given.map((entry, index) => ({
    name: String.fromCharCode(97 + index),
    volumeGroup: 'vg1',
    ...entry,
  }));
  return { volumeGroups: [goodGroup], deviceClasses };
}
