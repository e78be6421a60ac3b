import type { Node } from '../../api/objects/storage.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import type { Protocols } from './protocol.ts';

/** What a program is, as it tells the other side. */
export type Build = { readonly version: string; readonly protocols: Protocols };

/** On a Node, by its agent and by the operator: both see this one object, and it outlives them. */
export const agentBuildAnnotation = 'quarry.io/agent-version';
export const operatorBuildAnnotation = 'quarry.io/operator-version';

/** Whoever tells nothing is older than the number, or is no program of ours. */
const silent: Build = { version: 'one that tells no version', protocols: { newest: 1, oldest: 1 } };

export function buildText({ version, protocols: { newest, oldest } }: Build): string {
  return JSON.stringify({ version, protocol: newest, oldestProtocol: oldest });
}

/** For the agent of a node: why it does nothing new, if it does not. */
export function skewOfAgent(node: Node | undefined, self: Build): Blocked | undefined {
  const operator = buildIn(node, operatorBuildAnnotation);
  return skew({ operator, agent: self, node: node?.metadata.name ?? '' });
}

/** For the operator: why it asks the agent of a node for nothing, if it does not. */
export function skewOfOperator(node: Node | undefined, self: Build): Blocked | undefined {
  const agent = buildIn(node, agentBuildAnnotation);
  return skew({ operator: self, agent, node: node?.metadata.name ?? '' });
}

/** Both told what they are. */
export function skewOn(node: Node): Blocked | undefined {
  const operator = buildIn(node, operatorBuildAnnotation);
  return skew({ operator, agent: buildIn(node, agentBuildAnnotation), node: node.metadata.name });
}

type Pair = {
  readonly operator: Build | undefined;
  readonly agent: Build | undefined;
  readonly node: string;
};

/** What cannot be read may say anything. Whoever wrote it writes it anew. */
function skew({ operator, agent, node }: Pair): Blocked | undefined {
  if (operator === undefined || agent === undefined) {
    const key = operator === undefined ? operatorBuildAnnotation : agentBuildAnnotation;
    const message = `the annotation ${key} of the Node ${node} cannot be read: take it off`;
    return blocked('VersionSkew', message);
  }
  if (goTogether(operator.protocols, agent.protocols)) return undefined;
  const message =
    `the operator is ${show(operator)} and the agent of ${node} is ${show(agent)}, which do not ` +
    'go together: finish the roll-out, or undo it; until then volumes that are there are ' +
    'served, and nothing is made, grown, copied or removed';
  return blocked('VersionSkew', message);
}

/** The newer one knows the older one's words, or does not. */
function goTogether(one: Protocols, other: Protocols): boolean {
  return one.newest >= other.oldest && other.newest >= one.oldest;
}

function show({ version, protocols: { newest, oldest } }: Build): string {
  const words = newest === oldest ? `protocol ${newest}` : `protocols ${oldest} to ${newest}`;
  return `${version} (${words})`;
}

function buildIn(node: Node | undefined, key: string): Build | undefined {
  const text = node?.metadata.annotations?.[key];
  if (text === undefined) return silent;
  const { version, protocol, oldestProtocol } = fieldsOf(text);
  if (typeof version !== 'string' || !isNumber(protocol) || !isNumber(oldestProtocol)) {
    return undefined;
  }
  return { version, protocols: { newest: protocol, oldest: oldestProtocol } };
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text);
    const isObject = typeof parsed === 'object' && parsed !== null;
    return isObject ? (parsed as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

function isNumber(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0;
}
