/** The two networks of a lab, both inside its own namespace and without a way out. */

export type Link = { readonly tap: string; readonly mac: string };

type Network = {
  readonly bridge: string;
  readonly tap: string;
  readonly macByte: string;
  readonly prefix: string;
};

const firstGuest = 11;

export const guestNetwork: Network = {
  bridge: 'br0',
  tap: 'tap',
  macByte: '00',
  prefix: '10.77.0',
};

/** A network of its own for the disks, so that cutting the other one leaves them alone. */
export const storageNetwork: Network = {
  bridge: 'br1',
  tap: 'disk',
  macByte: '01',
  prefix: '192.168.77',
};

export function hostIpOf(network: Network): string {
  return `${network.prefix}.1`;
}

export function guestIpOf(network: Network, index: number): string {
  return `${network.prefix}.${firstGuest + index}`;
}

export function linkOf(network: Network, index: number): Link {
  const number = (index + 1).toString(16).padStart(2, '0');
  return {
    tap: `${network.tap}${index + 1}`,
    mac: `52:54:00:77:${network.macByte}:${number}`,
  };
}

/** The commands that make both networks, with one tap for each guest. */
export function networkCommands(guestCount: number): readonly (readonly string[])[] {
  const bridges = [guestNetwork, storageNetwork].flatMap((network) => {
    const taps = Array.from({ length: guestCount }, (_, index) => linkOf(network, index).tap);
    return [
      ['ip', 'link', 'add', network.bridge, 'type', 'bridge'],
      ['ip', 'addr', 'add', `${hostIpOf(network)}/24`, 'dev', network.bridge],
      ['ip', 'link', 'set', network.bridge, 'up'],
      ...taps.flatMap((tap) => [
        ['ip', 'tuntap', 'add', 'dev', tap, 'mode', 'tap'],
        ['ip', 'link', 'set', tap, 'master', network.bridge, 'up'],
      ]),
    ];
  });
  return [['ip', 'link', 'set', 'lo', 'up'], ...bridges];
}

/** A tap that was set down stays deaf in UML for ever, so the cable is pulled at the bridge. */
export function cableCommand(index: number, plugged: boolean): readonly string[] {
  const to = plugged ? ['master', guestNetwork.bridge] : ['nomaster'];
  return ['ip', 'link', 'set', linkOf(guestNetwork, index).tap, ...to];
}
