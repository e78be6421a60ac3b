import assert from 'node:assert/strict';
import { request } from 'node:https';
import { test } from 'node:test';
import { makeAuthority, makeServerCertificate } from '../process/certificate.ts';
import { type Question, Webhook } from './webhook.ts';

const now = Date.now();
const validity = { fromMs: now - 60_000, untilMs: now + 86_400_000 };
const host = 'webhook.test';
const authority = makeAuthority('a', validity);

type Told = { readonly status: number; readonly body: unknown };

async function withWebhook(
  judge: (question: Question) => Parameters<typeof verdict>[0],
  work: (ask: (path: string, body: string, method?: string) => Promise<Told>) => Promise<void>,
): Promise<void> {
  const webhook = new Webhook({
    judges: new Map([['/judge', (question) => verdict(judge(question))]]),
    certified: makeServerCertificate(authority, [host], validity),
    log: () => undefined,
  });
  const port = await webhook.start({ host: '127.0.0.1', port: 0 });
  try {
    await work((path, body, method = 'POST') => ask(port, { path, body, method }));
  } finally {
    await webhook.stop();
  }
}

function verdict(changes: {
  readonly message?: string;
  readonly warnings?: readonly string[];
  readonly patch?: readonly { op: 'add'; path: string; value: unknown }[];
}) {
  const { message = '', warnings = [], patch = [] } = changes;
  return { isAllowed: message === '', message, warnings, patch };
}

function ask(
  port: number,
  { path, body, method }: { path: string; body: string; method: string },
): Promise<Told> {
  const options = { host: '127.0.0.1', port, path, method, ca: authority.certificate };
  return new Promise((resolve, reject) => {
    const call = request({ ...options, servername: host, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
      });
    });
    call.on('error', reject);
    call.end(body);
  });
}

const question = JSON.stringify({ request: { uid: 'q1', operation: 'CREATE', object: { a: 1 } } });

test('a question is answered as an API server reads it', async () => {
  let seen: Question | undefined;
  const judge = (one: Question) => {
    seen = one;
    return { warnings: ['mind'], patch: [{ op: 'add', path: '/a', value: 2 } as const] };
  };
  await withWebhook(judge, async (asked) => {
    const patch = Buffer.from('[{"op":"add","path":"/a","value":2}]').toString('base64');
    assert.deepEqual(await asked('/judge?timeout=10s', question), {
      status: 200,
      body: {
        ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
        response: {
          ...{ uid: 'q1', allowed: true, warnings: ['mind'] },
          ...{ patchType: 'JSONPatch', patch },
        },
      },
    });
    assert.deepEqual(seen, { uid: 'q1', operation: 'CREATE', object: { a: 1 } });
  });
});

test('a refusal has its reason', async () => {
  await withWebhook(
    () => ({ message: 'not this' }),
    async (asked) => {
      const { body } = await asked('/judge', question);
      assert.deepEqual((body as { response: unknown }).response, {
        ...{ uid: 'q1', allowed: false },
        status: { code: 422, reason: 'Invalid', message: 'not this' },
      });
    },
  );
});

test('what is no question is told so, and the next one is answered', async () => {
  const judge = ({ operation }: Question) => {
    if (operation === 'BREAK') throw new Error('a bug');
    return {};
  };
  await withWebhook(judge, async (asked) => {
    assert.equal((await asked('/other', question)).status, 404);
    assert.equal((await asked('/judge', '', 'GET')).status, 405);
    assert.equal((await asked('/judge', 'not json')).status, 400);
    assert.equal((await asked('/judge', 'null')).status, 400);
    assert.equal((await asked('/judge', '{"request":{"uid":1}}')).status, 400);
    const broken = JSON.stringify({ request: { uid: 'q2', operation: 'BREAK' } });
    assert.deepEqual(await asked('/judge', broken), {
      status: 500,
      body: { message: 'a question cannot be judged: a bug' },
    });
    assert.equal((await asked('/judge', question)).status, 200);
  });
});

test('a new certificate is shown without a new start', async () => {
  const first = makeServerCertificate(authority, [host], validity);
  const webhook = new Webhook({
    ...{ judges: new Map([['/judge', () => verdict({})]]), certified: first },
    log: () => undefined,
  });
  const port = await webhook.start({ host: '127.0.0.1', port: 0 });
  try {
    const other = makeAuthority('b', validity);
    const call = { path: '/judge', body: question, method: 'POST' };
    assert.equal((await ask(port, call)).status, 200);
    webhook.renew(makeServerCertificate(other, [host], validity));
    await assert.rejects(ask(port, call), /signature|unable to verify/);
  } finally {
    await webhook.stop();
  }
});
