import { bytes } from '../../base/bytes.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { show, showBytes } from '../../base/show.ts';
import { type ClusterNames, clusterNames } from './names.ts';

type Annotations = Readonly<Record<string, string>>;

/** Bytes that a pod wants of each device class, by class: TopoLVM's webhook wrote them on it. */
export type WantedRoom = ReadonlyMap<string, bigint>;

export type Divisors = {
  readonly default: number;
  readonly classes: ReadonlyMap<string, number>;
};

const digits = /^\d{1,19}$/;

export function wantedRoom(
  annotations: Annotations | undefined,
  names: ClusterNames,
): WantedRoom | Blocked {
  const prefix = clusterNames(names).capacityAnnotation('');
  const wanted = new Map<string, bigint>();
  for (const [key, value] of Object.entries(annotations ?? {})) {
    if (!key.startsWith(prefix)) continue;
    if (!digits.test(value)) {
      const message = `the annotation ${key} of the pod is ${show(value)}; write a number of bytes`;
      return blocked('InvalidRequest', message);
    }
    wanted.set(key.slice(prefix.length), BigInt(value));
  }
  return wanted;
}

/** Why a node cannot take the pod; undefined where it can. */
export function roomRefusal(
  annotations: Annotations | undefined,
  wanted: WantedRoom,
  names: ClusterNames,
): string | undefined {
  for (const [deviceClass, wantedBytes] of wanted) {
    const key = clusterNames(names).capacityAnnotation(deviceClass);
    const value = annotations?.[key];
    if (value === undefined) return `no capacity annotation ${key}`;
    if (!digits.test(value)) return `bad capacity annotation ${key}: ${show(value)}`;
    const freeBytes = BigInt(value);
    if (freeBytes >= wantedBytes) continue;
    const numbers = `${showBytes(bytes(freeBytes))} free, ${showBytes(bytes(wantedBytes))} wanted`;
    return `out of VG free space: ${deviceClass} has ${numbers}`;
  }
  return undefined;
}

const scoreMax = 10;

/** How much a node is liked, 0 to 10: by the class of which it has least. */
export function roomScore(
  annotations: Annotations | undefined,
  wanted: WantedRoom,
  { names, divisors }: { readonly names: ClusterNames; readonly divisors: Divisors },
): number {
  const scores = [...wanted.keys()].map((deviceClass) => {
    const value = annotations?.[clusterNames(names).capacityAnnotation(deviceClass)] ?? '';
    const divisor = divisors.classes.get(deviceClass) ?? divisors.default;
    return digits.test(value) ? scoreOf(BigInt(value), divisor) : 0;
  });
  return scores.length === 0 ? 0 : Math.min(...scores);
}

function scoreOf(freeBytes: bigint, divisor: number): number {
  if (freeBytes === 0n) return 0;
  const freeGiB = Number(freeBytes >> 30n);
  if (freeGiB === 0) return 1;
  const score = Math.trunc(Math.log2(freeGiB / divisor));
  return Math.min(Math.max(score, 1), scoreMax);
}
