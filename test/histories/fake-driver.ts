import { readBytes } from '../../src/core/tags.ts';
import { localBook } from '../../src/csi/book.ts';
import { controllerService } from '../../src/csi/controller.ts';
import { nodeService } from '../../src/csi/node.ts';
import { pathOf, type Route } from '../../src/csi/service.ts';
import { endingOf } from '../../src/csi/status.ts';
import { Volumes } from '../../src/csi/volumes.ts';
import { PublishingStage } from '../flows/publishing.ts';
import { type Content, copied, isSame, leftovers } from '../world/content.ts';
import { sizeBytes } from '../world/model.ts';
import type { Checker, Ending } from './checker.ts';
import type { Call, Round } from './history.ts';
import type { Driver } from './play.ts';
import { type WireCall, wireCall } from './requests.ts';

/** What a broken driver would do instead of answering; with no argument it does not even try. */
export type Lie = { readonly method: string; lie(truth: never): unknown };

/** The driver in a fake world, called as over its socket but for the socket. */
export class FakeDriver implements Driver {
  readonly stage: PublishingStage;
  readonly #checker: Checker;
  /** What users wrote, by volume: it must be there whenever the volume is. */
  readonly #written = new Map<string, { readonly content: Content; readonly range: Range }>();
  #routes: ReadonlyMap<string, Route> = new Map();
  readonly #lie: Lie | undefined;
  #ids = 0;

  constructor(seed: number, checker: Checker, lie?: Lie) {
    this.#lie = lie;
    this.stage = new PublishingStage({ seed });
    this.#checker = checker;
  }

  async setUp(): Promise<void> {
    await this.stage.setUp();
    await this.#live();
  }

  async play({ calls, fate }: Round): Promise<void> {
    const abort = new AbortController();
    const { clock, faults } = this.stage.world;
    const takeBack = fate.kind === 'crash' ? faults.next(nthChange(fate.nth), crash) : undefined;
    const host = this.stage.host;
    const death = new Promise<Ending>((resolve) => host.onDeath(() => resolve(dead)));
    const wires = calls.map((call) => this.#wire(call));
    const endings = wires.map((wire, index) =>
      Promise.race([this.#call(calls[index], wire, abort.signal), death]),
    );
    if (fate.kind === 'cancel') clock.after(fate.afterMs, () => abort.abort(), 'cancel');
    const all = Promise.all(endings);
    const ended = await this.stage.run(all);
    takeBack?.();
    for (const [index, ending] of ended.entries()) {
      const call = calls[index];
      if (call !== undefined) this.#checker.check(call, ending, wires[index]);
    }
    if (host.isDead) {
      // What the dead process started may still run; nobody looks before it is done.
      await clock.advance(120_000);
      this.stage.restart();
      await this.#live();
    } else if (fate.kind === 'cancel') await clock.advance(120_000);
    this.#checkWorld();
  }

  /** The same request once more, with the ids it had; or a new one. */
  async call(call: Call, wire = this.#wire(call)): Promise<Ending> {
    const ending = await this.stage.run(this.#call(call, wire, new AbortController().signal));
    this.#checker.check(call, ending, wire);
    this.#checkWorld();
    return ending;
  }

  leftovers(): Promise<readonly string[]> {
    const { world } = this.stage;
    const volumes = world.vg('data')?.lvs.map((lv) => lv.name) ?? [];
    const mounts = world.machine.table.mounts.map(({ mountPoint }) => mountPoint);
    return Promise.resolve([
      ...volumes.filter((name) => name !== 'pool'),
      ...mounts.filter((path) => path.startsWith('/pods/')),
    ]);
  }

  async #live(): Promise<void> {
    const { stage } = this;
    await stage.run(stage.engine.recover(['data']));
    await stage.run(stage.engine.observe());
    const volumes = new Volumes({
      engine: stage.engine,
      publisher: stage.publisher,
      classes: () => stage.node.deviceClasses,
      newId: () => this.#newId(),
      nowMs: () => stage.world.clock.nowMs(),
    });
    const names = { driver: 'topolvm.io', domain: 'topolvm.io', version: '0', node: 'n1' };
    const services = [
      ...controllerService(localBook(volumes, names.node), names),
      ...nodeService({ volumes, publisher: stage.publisher }, names),
    ];
    this.#routes = new Map(services.map((route) => [route.path, route]));
  }

  #newId(): string {
    this.#ids += 1;
    return `id-${this.#ids}`;
  }

  #wire(call: Call): WireCall | undefined {
    return call.op === 'write' ? undefined : wireCall(call, this.#checker);
  }

  async #call(
    call: Call | undefined,
    wire: WireCall | undefined,
    signal: AbortSignal,
  ): Promise<Ending> {
    if (wire === undefined) return this.#write(call?.op === 'write' ? call.name : '');
    const { definition, method: name, request, read } = wire;
    const method = definition.methods[name];
    const route = method === undefined ? undefined : this.#routes.get(pathOf(definition, method));
    if (method === undefined || route === undefined) throw new Error(`there is no ${name}`);
    const message = method.requestType.fromPartial(request as never);
    const about = { signal, deadlineMs: undefined, peer: 'history', nameVolume: () => undefined };
    try {
      const isLie = this.#lie?.method === method.name;
      const isSilent = isLie && this.#lie?.lie.length === 0;
      const truth = isSilent ? undefined : await route.handler(message, about);
      const response = isLie ? this.#lie?.lie(truth as never) : truth;
      return { code: 'OK', message: '', ...read(response as never) };
    } catch (error) {
      const { status, message: text, detail } = endingOf(error);
      return { code: status, message: detail ?? text };
    }
  }

  /** A user writes through the first path at which the volume is shown. */
  #write(name: string): Ending {
    const one = this.#checker.all('volume').find((each) => each.name === name);
    const isShown = one !== undefined && [...one.shown.values()].includes('yes');
    const lv = one?.id === undefined ? undefined : this.stage.world.lv('data', one.id);
    if (!isShown || lv === undefined || lv.isReadOnly) return { code: 'OK', message: '' };
    const range = { start: Math.floor(sizeBytes(lv) / 2), length: 1024 ** 2 };
    this.stage.world.write(lv, range.start, range.length);
    this.#written.set(lv.uuid, { content: copied(lv.content, range), range });
    return { code: 'OK', message: '' };
  }

  #checkWorld(): void {
    const { world } = this.stage;
    for (const lv of world.vg('data')?.lvs ?? []) {
      const written = this.#written.get(lv.uuid);
      if (written === undefined) continue;
      const { content, range } = written;
      // The rest belongs to the file system, which writes to it as it likes.
      if (!isSame(content, copied(lv.content, range), sizeBytes(lv))) {
        this.#checker.say(`${lv.name} does not hold what was written to it`);
        this.#written.delete(lv.uuid);
      }
    }
    this.#checkTenants();
    const seen = new Map<string, number>();
    for (const { mountPoint } of world.machine.table.mounts) {
      seen.set(mountPoint, (seen.get(mountPoint) ?? 0) + 1);
    }
    for (const [path, count] of seen) {
      if (count > 1 && path.startsWith('/pods/')) this.#checker.say(`${path} is mounted twice`);
    }
  }

  /**
   * Nobody reads what former tenants left, but at the end of a volume that is still growing. What
   * was made for a file system, or copied from that, was never zeroed where it did not write.
   */
  #checkTenants(): void {
    for (const { lv, node, mountPoint } of this.stage.world.machine.table.mounts) {
      const isMade = lv.content.signatures.some(({ usage }) => usage === 'filesystem');
      if (node === undefined || isMade) continue;
      const grownFrom = Number(readBytes(lv.tags, 'grownFrom') ?? sizeBytes(lv));
      const readable = leftovers(lv.content).filter(({ start }) => start < grownFrom);
      if (readable.length === 0) continue;
      const where = readable.map(({ start, end }) => `${start}-${end}`).join(' ');
      this.#checker.say(`${mountPoint} shows what others left in ${lv.name}: ${where}`);
    }
  }
}

type Range = { readonly start: number; readonly length: number };

const dead: Ending = { code: 'DEAD', message: 'the driver died' };

const crash = { kind: 'crash', when: 'during' } as const;

function nthChange(nth: number) {
  let left = nth;
  return ({ effect }: { readonly effect: string }) => {
    if (effect === 'changes') left -= 1;
    return effect === 'changes' && left === 0;
  };
}
