import type { Condition } from '../../api/objects/claim.ts';

/** What a condition says; its times are kept or made here. */
export type ConditionText = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export type ConditionChange = {
  readonly set?: readonly ConditionText[];
  readonly drop?: readonly string[];
  /** As Kubernetes writes times. */
  readonly nowText: string;
};

/** The whole list after a change. What is not named stays as it is: others own it. */
export function changeConditions(
  conditions: readonly Condition[] | undefined,
  { set = [], drop = [], nowText }: ConditionChange,
): readonly Condition[] {
  const known = conditions ?? [];
  const kept = known
    .filter(({ type }) => !drop.includes(type))
    .map((condition) => {
      const text = set.find(({ type }) => type === condition.type);
      return text === undefined ? condition : updated(condition, text, nowText);
    });
  const added = set.filter(({ type }) => !known.some((condition) => condition.type === type));
  return [...kept, ...added.map((text) => ({ ...text, lastTransitionTime: nowText }))];
}

export function hasCondition(conditions: readonly Condition[] | undefined, type: string): boolean {
  return (conditions ?? []).some(
    (condition) => condition.type === type && condition.status === 'True',
  );
}

/** Does the condition say this already? Then nobody needs a write. */
export function saysAlready(
  conditions: readonly Condition[] | undefined,
  text: ConditionText,
): boolean {
  return (conditions ?? []).some((condition) => isSame(condition, text));
}

function updated(condition: Condition, text: ConditionText, nowText: string): Condition {
  if (isSame(condition, text)) return condition;
  const isTurn = condition.status !== text.status;
  const sinceText = isTurn ? nowText : (condition.lastTransitionTime ?? nowText);
  return { ...text, lastTransitionTime: sinceText };
}

function isSame(condition: Condition, text: ConditionText): boolean {
  return (
    condition.type === text.type &&
    condition.status === text.status &&
    (condition.reason ?? '') === (text.reason ?? '') &&
    (condition.message ?? '') === (text.message ?? '')
  );
}

/** What the owner of a claim reads about it in `kubectl describe`. */
export type ClaimEvent = {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
};
