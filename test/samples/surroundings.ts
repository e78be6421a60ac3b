import type { Environment } from '../../src/cli/context.ts';

/** A user who has no cluster, and whom nothing is coloured for. */
export const surroundings: Pick<Environment, 'program' | 'hasColours' | 'variables'> = {
  ...{ program: 'quarry', hasColours: false },
  variables: { kubeconfig: '', home: '', serviceHost: '', servicePort: '', all: () => ({}) },
};
