import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { banner } from './bundle.ts';

for (const { version, takes } of [
  { version: '20.20.2', takes: false },
  { version: '22.20.0', takes: false },
  { version: '24.1.0', takes: true },
]) {
  test(`Node ${version} is ${takes ? '' : 'not '}given flags of V8`, () => {
    const given: string[] = [];
    const v8 = { setFlagsFromString: (flag: string) => given.push(flag) };
    const process = { versions: { node: version }, env: {} as Record<string, string> };
    runInNewContext(banner, { process, require: () => v8 });
    assert.equal(given.length > 0, takes);
    assert.match(process.env['UV_THREADPOOL_SIZE'] ?? '', /^\d+$/);
  });
}
