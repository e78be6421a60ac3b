import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from '../../../src/kube/client.ts';
import type { Kind, KubeObject } from '../../../src/kube/kind.ts';

/** A kind is served a moment after its definition was taken. */
export async function served<T extends KubeObject>(
  admin: KubeClient,
  kind: Kind<T>,
): Promise<void> {
  const isServed = () =>
    admin.list(kind).then(
      () => true,
      () => false,
    );
  await until(`${kind.kind} is served`, isServed);
}

export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isTrue()); tries += 1) {
    assert.ok(tries < 300, `not in time: ${what}`);
    await sleep(100);
  }
}
