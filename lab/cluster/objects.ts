/** The few fields of Kubernetes objects that the lab looks at. */

export type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
};

export type NodeObject = {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly conditions?: readonly Condition[];
    readonly nodeInfo: {
      readonly bootID: string;
      readonly kernelVersion: string;
      readonly osImage: string;
      readonly containerRuntimeVersion: string;
      readonly kubeletVersion: string;
    };
  };
};

export type PodObject = {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly ready: boolean;
      readonly restartCount: number;
      readonly state: unknown;
    }[];
  };
};

export function conditionOf(
  object: { readonly status: { readonly conditions?: readonly Condition[] } },
  type: string,
): Condition | undefined {
  return object.status.conditions?.find((condition) => condition.type === type);
}
