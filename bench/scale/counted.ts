import type { Call, Opened, Transport } from '../../src/kube/transport.ts';

/** What came over one agent's connections: answers and watch events, without TLS and headers. */
export type Heard = { bytes: number; events: number; bookmarks: number; requests: number };

export function nothingHeard(): Heard {
  return { bytes: 0, events: 0, bookmarks: 0, requests: 0 };
}

export function counted(inner: Transport, heard: Heard): Transport {
  const open = async (call: Call, idleMs: number): Promise<Opened> => {
    heard.requests += 1;
    const opened = await inner.open(call, idleMs);
    if (opened.kind === 'refused') return opened;
    const { stream } = opened;
    return { kind: 'stream', stream: { ...stream, lines: countedLines(stream.lines, heard) } };
  };
  return {
    open,
    send: async (call) => {
      heard.requests += 1;
      const answer = await inner.send(call);
      heard.bytes += answer.body.length;
      return answer;
    },
    refuseCredentials: () => inner.refuseCredentials(),
    close: () => inner.close(),
  };
}

async function* countedLines(lines: AsyncIterable<Buffer>, heard: Heard): AsyncGenerator<Buffer> {
  for await (const line of lines) {
    heard.bytes += line.length + 1;
    if (line.includes('"type":"BOOKMARK"')) heard.bookmarks += 1;
    else heard.events += 1;
    yield line;
  }
}
