import { ourAgent } from './our-agent.ts';
import { ourOperator } from './our-operator.ts';
import type { AgentProgram } from './programs.ts';

/** Both roles in one process: they live and die together, and speak over the same connections. */
export const ourAll: AgentProgram = (around) => {
  const shared = around.transport();
  const both = { ...around, transport: () => shared };
  const agent = ourAgent(both);
  const operator = ourOperator(both);
  return {
    run: async (signal) => {
      await Promise.all([agent.run(signal), operator.run(signal)]);
    },
  };
};
