import { crossCheck } from './cross-check.ts';
import { decodeDeviceClass, type PlacedClass, warnOfOptions } from './device-class.ts';
import { type Finding, Findings } from './findings.ts';
import { readThickOptions } from './lvcreate-options.ts';
import { NodeReader } from './node-reader.ts';
import type { LvmdOptionClass, LvmdSpec } from './spec.ts';
import { readYaml, showNode } from './yaml.ts';

/** `warnings` are about what is read otherwise than a person may expect; they stop nothing. */
export type DecodedLvmd =
  | (PlacedSpec & { readonly kind: 'lvmd'; readonly warnings: readonly Finding[] })
  | {
      readonly kind: 'problems';
      readonly problems: readonly Finding[];
      readonly warnings: readonly Finding[];
      /** All classes, with harmless values for what is wrong: to find out what else is. */
      readonly whole: PlacedSpec | undefined;
      /** The classes with nothing wrong in them, if everything around them is right as well. */
      readonly sound: PlacedSpec | undefined;
    };

/** A configuration, and where in the file each of its classes names what it needs of the host. */
export type PlacedSpec = { readonly spec: LvmdSpec; readonly places: readonly ClassPlaces[] };

/** In the order of the classes. */
export type ClassPlaces = { readonly volumeGroup: Place; readonly poolName: Place };

type Place = Pick<Finding, 'line' | 'field'>;

/** TopoLVM's file, read as leniently as TopoLVM reads it: either it is good, or all is told. */
export function decodeLvmdFile(given: {
  readonly file: string;
  readonly text: string;
  /** Where classes come from LVMClusters a list may say that there is none. */
  readonly mayBeEmpty?: boolean;
}): DecodedLvmd {
  const findings = new Findings(given.file);
  const root = decodeText(given, findings);
  const { problems, warnings } = findings;
  const isGood = root !== undefined && problems.length === 0;
  if (isGood) return { kind: 'lvmd', ...placedSpec(root), warnings };
  const whole = root === undefined ? undefined : placedSpec(root);
  return { kind: 'problems', problems, warnings, whole, sound: soundPart(root, problems) };
}

type Root = Omit<LvmdSpec, 'deviceClasses'> & { readonly classes: readonly PlacedClass[] };

function placedSpec({ classes, ...rest }: Root): PlacedSpec {
  const spec = { ...rest, deviceClasses: classes.map((placed) => placed.spec) };
  return { spec, places: classes.map(({ reader }) => placesOf(reader)) };
}

function placesOf(reader: NodeReader): ClassPlaces {
  const pool = reader.child('thin-pool');
  return {
    volumeGroup: reader.placeOf('volume-group'),
    poolName: (pool ?? reader).placeOf('name'),
  };
}

function soundPart(root: Root | undefined, problems: readonly Finding[]): PlacedSpec | undefined {
  const isElsewhere = ({ field }: Finding) => !/^device-?classes\[\d+\]/i.test(field);
  if (root === undefined || problems.some(isElsewhere)) return undefined;
  const isFaulty = ({ reader: { path } }: PlacedClass) =>
    problems.some(({ field }) => field === path || field.startsWith(`${path}.`));
  const classes = root.classes.filter((placed) => !isFaulty(placed));
  return classes.length === 0 ? undefined : placedSpec({ ...root, classes });
}

function decodeText(
  { text, mayBeEmpty = false }: { readonly text: string; readonly mayBeEmpty?: boolean },
  findings: Findings,
): Root | undefined {
  const root = readYaml(text, findings);
  if (root === undefined) return undefined;
  const isEmpty = root.kind === 'scalar' && root.value === null;
  if (root.kind !== 'mapping' && !isEmpty) {
    const remedy = 'write a mapping of keys to values';
    const value = showNode(root);
    findings.problem({ line: root.line, field: 'the document', value, remedy });
    return undefined;
  }
  const empty = { kind: 'mapping', line: root.line, entries: [] } as const;
  const reader = new NodeReader(root.kind === 'mapping' ? root : empty, '', findings);
  return decodeRoot(reader, mayBeEmpty);
}

function decodeRoot(reader: NodeReader, mayBeEmpty: boolean): Root {
  const root = {
    // LVMS writes an empty text where it has nothing to say.
    socketName: reader.text('socket-name') || defaultSocket,
    lvmCommandPrefix: commandPrefix(reader),
    classes: deviceClasses(reader, mayBeEmpty),
    lvcreateOptionClasses: optionClasses(reader),
  };
  reader.warnOfUnknown();
  return root;
}

const defaultSocket = '/run/topolvm/lvmd.sock';

function commandPrefix(reader: NodeReader): readonly string[] {
  const words = reader.texts('lvm-command-prefix') ?? [];
  const program = words.at(-1);
  if (words.includes('') || (program !== undefined && !/lvm[^/]*$/.test(program))) {
    reader.refuse('lvm-command-prefix', 'write words, the last of them the path of lvm');
  }
  return words;
}

function deviceClasses(reader: NodeReader, mayBeEmpty: boolean): readonly PlacedClass[] {
  const placed = classReaders(reader, mayBeEmpty).map(decodeDeviceClass);
  crossCheck(placed);
  return placed;
}

/** The sample of MicroShift's design says `deviceClasses`, which TopoLVM would pass over. */
function classReaders(reader: NodeReader, mayBeEmpty: boolean): readonly NodeReader[] {
  const key = 'device-classes';
  const alias = 'deviceclasses';
  const isAlias = !reader.has(key) && reader.has(alias);
  if (isAlias) reader.warn(alias, `it is read as ${key}; write ${key}, which TopoLVM knows too`);
  else if (reader.has(alias)) reader.warn(alias, `it is ignored: ${key} stands there too`);
  const classes = reader.children(isAlias ? alias : key);
  const isSaid = mayBeEmpty && (reader.has(key) || isAlias);
  if (classes?.length === 0 && !isSaid) {
    reader.refuse(isAlias ? alias : key, 'list at least one device class');
  }
  return classes?.filter((child) => child !== undefined) ?? [];
}

/** TopoLVM checks nothing here, and of two with one name it takes the last. */
function optionClasses(reader: NodeReader): readonly LvmdOptionClass[] {
  const children = reader.children('lvcreate-option-classes') ?? [];
  const lines = new Map<string, number>();
  return children.flatMap((child) => {
    if (child === undefined) return [];
    const name = child.text('name') ?? '';
    const options = child.texts('options') ?? [];
    child.warnOfUnknown();
    warnOfOptions(child, 'options', readThickOptions(options).remarks);
    const line = lines.get(name);
    lines.set(name, child.lineOf('name'));
    if (name === '') child.warn('name', 'nobody can ask for a class without a name');
    else if (line !== undefined)
      child.warn('name', `it takes the place of the one on line ${line}`);
    return [{ name, options }];
  });
}
