import assert from 'node:assert/strict';
import type { E2eStage } from './stage.ts';

/** One request, without kubectl: that would come back when a quick operation is over already. */
export async function send(
  { cluster }: E2eStage,
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<void> {
  const contentType = `application/${method === 'PATCH' ? 'merge-patch+json' : 'json'}`;
  const call = { method, contentType, ...(body === undefined ? {} : { body }) };
  const { status, text } = await cluster.api.request(path, call);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}
