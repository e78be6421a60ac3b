import type { DriverNames } from './controller.ts';
import {
  PluginCapability_VolumeExpansion_Type as Expansion,
  IdentityDefinition,
  PluginCapability_Service_Type as Offer,
  type PluginCapability,
} from './generated/csi.ts';
import { type Service, service } from './service.ts';

const offers = [
  ...[Offer.CONTROLLER_SERVICE, Offer.GROUP_CONTROLLER_SERVICE],
  Offer.VOLUME_ACCESSIBILITY_CONSTRAINTS,
] as const;

const capabilities: readonly PluginCapability[] = [
  ...offers.map((type): PluginCapability => ({ type: { $case: 'service', value: { type } } })),
  ...[Expansion.ONLINE, Expansion.OFFLINE].map(
    (type): PluginCapability => ({ type: { $case: 'volumeExpansion', value: { type } } }),
  ),
];

export type IdentityParts = {
  /** Whether a look at this host ever worked, and works now. */
  readonly isReady: () => boolean;
  /** CSI's lists have no words for what they cannot show, so the manifest has them. */
  readonly missingGroups: () => Promise<readonly string[]>;
};

export function missingGroupsKey({ domain }: Pick<DriverNames, 'domain'>): string {
  return `${domain}/missing-volume-groups`;
}

export function identityService(names: DriverNames, parts: IdentityParts): Service {
  return service(IdentityDefinition, {
    getPluginInfo: async () => {
      const missing = await parts.missingGroups();
      return {
        name: names.driver,
        vendorVersion: names.version,
        manifest: new Map(
          missing.length === 0 ? [] : [[missingGroupsKey(names), missing.join(', ')]],
        ),
      };
    },
    getPluginCapabilities: () => Promise.resolve({ capabilities }),
    probe: () => Promise.resolve({ ready: parts.isReady() }),
  });
}
