import type { Driver } from './driver.ts';
import type { Kind, Operation } from './figures.ts';
import { grownBytes, sizeBytes } from './peers.ts';

/** The life of one volume of ours, a call at a time. */
export class Steps {
  readonly #driver: Driver;
  readonly #kind: Kind;
  readonly #name: string;
  #volume = '';
  #snapshot = '';

  constructor(driver: Driver, kind: Kind, name: string) {
    this.#driver = driver;
    this.#kind = kind;
    this.#name = name;
  }

  async run(operation: Operation): Promise<void> {
    switch (operation) {
      case 'create':
        this.#volume = await this.#driver.create(this.#kind, this.#name, sizeBytes);
        return;
      case 'expand':
        return this.#driver.expand(this.#volume, grownBytes);
      case 'snapshot':
        this.#snapshot = await this.#driver.snapshot(this.#volume, this.#name);
        return;
      case 'delete':
        return this.#driver.deleteVolume(this.#volume);
    }
  }

  dropSnapshot(): Promise<void> {
    return this.#driver.deleteSnapshot(this.#snapshot);
  }
}
