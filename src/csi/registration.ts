import { RegistrationDefinition } from './generated/registration.ts';
import { type Service, service } from './service.ts';

export type RegistrationParts = {
  readonly driver: string;
  /** Where kubelet finds the CSI socket: a path of the host, whatever it is called in here. */
  readonly endpoint: string;
  /** What kubelet made of it; '' is well. */
  readonly told: (error: string) => void;
};

/** The versions of CSI, as the stock registrar names them. */
const versions = ['1.0.0'];

/** What kubelet asks of a socket that it found in its directory of plugins. */
export function registrationService({ driver, endpoint, told }: RegistrationParts): Service {
  return service(RegistrationDefinition, {
    getInfo: () =>
      Promise.resolve({ type: 'CSIPlugin', name: driver, endpoint, supportedVersions: versions }),
    notifyRegistrationStatus: ({ pluginRegistered, error }) => {
      told(pluginRegistered ? '' : error || 'kubelet gave no reason');
      return Promise.resolve({});
    },
  });
}
