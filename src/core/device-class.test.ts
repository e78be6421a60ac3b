import assert from 'node:assert/strict';
import test from 'node:test';
import { thickClass, thinClass } from '../../test/samples/observed.ts';
import { type OptionClass, withOptionClass } from './device-class.ts';
import { isBlocked } from './usable-vg.ts';

const raid: OptionClass = {
  name: 'raid',
  layout: { kind: 'raid1', mirrors: 1 },
  lvcreateOptions: ['--nosync'],
};

test('an option class takes the place of the layout and the options', () => {
  const deviceClass = thickClass({
    layout: { kind: 'striped', stripes: 2 },
    lvcreateOptions: ['--readahead=none'],
    optionClasses: [raid],
  });
  const { layout, lvcreateOptions } = raid;
  assert.deepEqual(withOptionClass(deviceClass, 'raid'), {
    ...deviceClass,
    layout,
    lvcreateOptions,
  });
  assert.equal(withOptionClass(deviceClass, ''), deviceClass);
});

test('of two option classes with one name the last one counts', () => {
  const last: OptionClass = { ...raid, layout: { kind: 'linear' } };
  const found = withOptionClass(thickClass({ optionClasses: [raid, last] }), 'raid');
  assert.ok(!isBlocked(found));
  assert.deepEqual(found.layout, { kind: 'linear' });
});

test('an option class that is not there is refused, with those that are', () => {
  const none = withOptionClass(thinClass(), 'raid');
  assert.ok(isBlocked(none));
  assert.equal(none.code, 'UnknownOptionClass');
  assert.equal(none.message, 'there is no lvcreate option class raid on this node; known: none');
  const some = thickClass({ optionClasses: [raid, { ...raid, name: 'fast' }, raid] });
  const other = withOptionClass(some, 'slow');
  assert.ok(isBlocked(other));
  assert.match(other.message, /known: raid and fast$/);
});
