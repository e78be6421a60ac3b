/** What an installation is made of, by the names and labels that it has in every cluster. */

/** LVMS' names, so that its clusters are taken over in place. */
export const workloadNames = { operator: 'lvms-operator', agent: 'vg-manager' } as const;

export const componentLabel = 'app.kubernetes.io/component';

/** TopoLVM's labels: dashboards, alerts and test suites in the field select by them. */
export const components = { operator: 'controller', agent: 'node' } as const;

/** By this our workloads and their pods are found, whatever the namespace is called. */
export const partOf = { key: 'app.kubernetes.io/part-of', value: 'quarry' } as const;

/** LVMS' name: API servers call our webhooks by it. */
export const webhookService = 'lvms-webhook-service';

/** Both registrations of the webhooks have it. */
export const registrationName = 'lvms.quarry.io';
