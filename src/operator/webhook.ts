import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Verdict } from '../api/lvm-cluster/admission.ts';
import type { Certified } from '../process/certificate.ts';
import { type Address, close, httpsServer, listen, readBody } from '../process/http-server.ts';
import type { Log } from '../process/log.ts';

/** What an API server asks about one object. */
export type Question = {
  readonly uid: string;
  readonly operation: string;
  readonly object?: unknown;
  readonly oldObject?: unknown;
  /** Nothing will be written: somebody wants to know what would happen. */
  readonly dryRun?: boolean;
};

export type Judge = (question: Question) => Verdict | Promise<Verdict>;

type Parts = {
  /** By path. */
  readonly judges: ReadonlyMap<string, Judge>;
  readonly certified: Certified;
  readonly log: Log;
};

type Answer = { readonly status: number; readonly body: unknown };

/** Where API servers ask before they take an object. */
export class Webhook {
  readonly #parts: Parts;
  readonly #server: Server;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { certificate: cert, key } = parts.certified;
    this.#server = httpsServer({ cert, key }, (request, response) => {
      void this.#serve(request, response);
    });
  }

  /** The port it listens on. */
  start(address: Address): Promise<number> {
    return listen(this.#server, address);
  }

  stop(): Promise<void> {
    return close(this.#server);
  }

  /** For connections from now on. */
  renew({ certificate: cert, key }: Certified): void {
    this.#server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body } = await this.#answer(request);
    if (status !== 200) response.setHeader('connection', 'close');
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const path = (request.url ?? '').replace(/\?.*$/, '');
    const judge = this.#parts.judges.get(path);
    if (judge === undefined) return refused(404, 'nothing is judged here');
    if (request.method !== 'POST') return refused(405, 'only POST is answered');
    const text = await readBody(request, questionBytesMax);
    if (text === undefined) {
      return refused(413, `a question has at most ${questionBytesMax} bytes`);
    }
    const question = questionIn(text);
    if (question === undefined) return refused(400, 'this is no AdmissionReview');
    try {
      return { status: 200, body: admissionReview(question.uid, await judge(question)) };
    } catch (error) {
      const message = `a question cannot be judged: ${(error as Error).message}`;
      this.#parts.log({ level: 'error', message });
      return refused(500, message);
    }
  }
}

/** Two objects, each of at most what etcd takes, and what is around them. */
const questionBytesMax = 4 * 1024 * 1024;

function questionIn(text: string): Question | undefined {
  try {
    const { request } = JSON.parse(text) as { readonly request?: Partial<Question> | null };
    const { uid, operation } = request ?? {};
    if (typeof uid !== 'string' || typeof operation !== 'string') return undefined;
    return { ...request, uid, operation };
  } catch {
    return undefined;
  }
}

export function admissionReview(uid: string, verdict: Verdict): object {
  const { isAllowed, message, warnings, patch } = verdict;
  const patchText = Buffer.from(JSON.stringify(patch)).toString('base64');
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed: isAllowed,
      ...(isAllowed ? {} : { status: { code: 422, reason: 'Invalid', message } }),
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(patch.length === 0 ? {} : { patchType: 'JSONPatch', patch: patchText }),
    },
  };
}

function refused(status: number, message: string): Answer {
  return { status, body: { message } };
}
