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

/** `isReady` says whether a look at this host ever worked, and works now. */
export function identityService(names: DriverNames, isReady: () => boolean): Service {
  return service(IdentityDefinition, {
    getPluginInfo: () =>
      Promise.resolve({
        name: names.driver,
        vendorVersion: names.version,
        manifest: new Map<string, string>(),
      }),
    getPluginCapabilities: () => Promise.resolve({ capabilities }),
    probe: () => Promise.resolve({ ready: isReady() }),
  });
}
