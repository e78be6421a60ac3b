import assert from 'node:assert/strict';
import test from 'node:test';
import { finding } from '../core/doctor/finding.ts';
import { diagnosisText } from './doctor.ts';

const paint = (text: string) => text;
const plain = { isWide: false, paint };
const wide = { isWide: true, paint };

function unwell(name: string) {
  const object = { kind: 'LogicalVolume', name };
  return finding('VolumeUnwell', { object, what: `${name} is unwell`, details: ['one', 'two'] });
}

test('a finding says what, where, why it matters and what to do', () => {
  const text = diagnosisText({ findings: [unwell('lv1')], unseen: [] }, plain);
  assert.equal(
    text,
    `VolumeUnwell  LogicalVolume lv1
  lv1 is unwell
    one
    two
  Why it matters: Reads or writes may fail, or will when one more thing fails.
  What to do:     Do what the guide on trouble says about these words.

1 finding.`,
  );
});

test('many of one kind are told in part, and all of them when somebody asks', () => {
  const findings = Array.from({ length: 25 }, (_, at) => unwell(`lv${at}`));
  const told = diagnosisText({ findings, unseen: [] }, plain);
  assert.match(told, /And 15 more of VolumeUnwell: -o wide shows them\.\n\n25 findings\.$/);
  assert.doesNotMatch(told, /lv10 is unwell/);
  assert.match(diagnosisText({ findings, unseen: [] }, wide), /lv24 is unwell/);
});

test('nothing wrong is said in one line, and what was not read beside it', () => {
  assert.equal(diagnosisText({ findings: [], unseen: [] }, plain), 'Nothing is wrong.');
  const unseen = [{ part: 'pods', message: 'Forbidden: no' }] as const;
  const told = diagnosisText({ findings: [], unseen }, plain);
  assert.match(told, /pods: Forbidden: no\n\nNothing is wrong in what could be read\.$/);
});
