/** The negotiation at the start of an iSCSI connection, as far as one initiator of Linux goes. */

export type LoginKeys = ReadonlyMap<string, string>;

export type Negotiated = {
  readonly target: string;
  /** The longest data segment the initiator takes. */
  readonly sendBytesMax: number;
  readonly firstBurstBytes: number;
  readonly burstBytesMax: number;
};

const receiveBytesMax = 1024 * 1024;
const burstBytesMax = 4 * 1024 * 1024;

export function parseKeys(data: Buffer): LoginKeys {
  const pairs = data.toString().split('\0').filter(Boolean);
  return new Map(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

export function encodeKeys(keys: LoginKeys): Buffer {
  return Buffer.from([...keys].map(([key, value]) => `${key}=${value}\0`).join(''));
}

/** Our answer to what the initiator offers in one step. */
export function answerKeys(offered: LoginKeys): LoginKeys {
  const answers = new Map<string, string>();
  for (const [key, value] of offered) {
    const answer = answerKey(key, value);
    if (answer !== undefined) answers.set(key, answer);
  }
  if (offered.has('TargetName')) answers.set('TargetPortalGroupTag', '1');
  if (offered.has('MaxRecvDataSegmentLength')) {
    answers.set('MaxRecvDataSegmentLength', String(receiveBytesMax));
  }
  return answers;
}

function answerKey(key: string, value: string): string | undefined {
  switch (key) {
    case 'InitiatorName':
    case 'InitiatorAlias':
    case 'TargetName':
    case 'SessionType':
    case 'MaxRecvDataSegmentLength':
      return undefined; // declared, not negotiated
    case 'AuthMethod':
    case 'HeaderDigest':
    case 'DataDigest':
      return 'None';
    case 'InitialR2T':
      return value; // ours is "No", and either side may ask for "Yes"
    case 'ImmediateData':
      return value; // ours is "Yes", and either side may ask for "No"
    case 'MaxBurstLength':
    case 'FirstBurstLength':
      return String(Math.min(Number(value), burstBytesMax));
    case 'MaxConnections':
    case 'MaxOutstandingR2T':
      return '1';
    case 'DefaultTime2Wait':
      return value;
    case 'DefaultTime2Retain':
    case 'ErrorRecoveryLevel':
      return '0';
    case 'DataPDUInOrder':
    case 'DataSequenceInOrder':
      return 'Yes';
    case 'IFMarker':
    case 'OFMarker':
      return 'No';
    default:
      return 'NotUnderstood';
  }
}

/** What both sides hold to, from everything that was offered. */
export function negotiate(offered: LoginKeys): Negotiated {
  const number = (key: string, usual: number): number => Number(offered.get(key) ?? usual);
  return {
    target: offered.get('TargetName') ?? '',
    sendBytesMax: number('MaxRecvDataSegmentLength', 8192),
    firstBurstBytes: Math.min(number('FirstBurstLength', 65_536), burstBytesMax),
    burstBytesMax: Math.min(number('MaxBurstLength', 262_144), burstBytesMax),
  };
}
