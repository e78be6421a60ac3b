import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Environment } from '@marcbachmann/cel-js';
import { loadAll } from 'js-yaml';

/** The policy in the tree, judged as an API server judges it: by its own expressions. */
type Policy = {
  readonly spec: {
    readonly failurePolicy: string;
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly apiGroups: readonly string[];
        readonly resources: readonly string[];
        readonly operations: readonly string[];
      }[];
    };
    readonly matchConditions: readonly { readonly expression: string }[];
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly {
      readonly expression: string;
      readonly message?: string;
      readonly messageExpression?: string;
    }[];
  };
};

const file = join(import.meta.dirname, '../../deploy/node-policy.yaml');
export const [policy] = loadAll(readFileSync(file, 'utf8')) as [Policy];

export type Write = {
  readonly resource: string;
  readonly name?: string;
  readonly operation?: string;
  /** The node in the token; '' for a server that puts none into it. */
  readonly node?: string;
  readonly username?: string;
  readonly object: object | null;
  readonly oldObject: object | null;
};

const ours = 'system:serviceaccount:quarry-system:vg-manager';

/** Undefined: it may be done. */
export function refusal(write: Write): string | undefined {
  const { resource, name = '', node = 'a', username = ours, object, oldObject } = write;
  const { operation = '' } = write;
  const extra = node === '' ? {} : { 'authentication.kubernetes.io/node-name': [node] };
  const request = { userInfo: { username, extra }, resource: { resource }, name, operation };
  const variables: Record<string, unknown> = {};
  const evaluate = (expression: string): unknown =>
    new Environment({ unlistedVariablesAreDyn: true }).evaluate(expression, {
      ...{ request, object, oldObject, variables },
    });
  const { matchConditions, validations } = policy.spec;
  if (matchConditions.some(({ expression }) => evaluate(expression) !== true)) return undefined;
  for (const { name: key, expression } of policy.spec.variables) {
    variables[key] = evaluate(expression);
  }
  for (const { expression, message = '', messageExpression } of validations) {
    if (evaluate(expression) === true) continue;
    return messageExpression === undefined ? message : String(evaluate(messageExpression));
  }
  return undefined;
}
