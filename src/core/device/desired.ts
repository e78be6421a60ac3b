/** Which devices a volume group wants. */
export type DeviceSelector =
  | {
      readonly kind: 'paths';
      /** Each of these must be usable, or nothing is done. */
      readonly required: readonly string[];
      /** Taken where they exist. */
      readonly optional: readonly string[];
      /** The administrator allowed what is on the named devices to be destroyed. */
      readonly forceWipe: boolean;
      /** Only these of them, by `diskId`; all of them where it is not said. */
      readonly onlyWipe?: readonly string[];
    }
  /** Every device nobody else uses or names. */
  | { readonly kind: 'any'; readonly forceWipe: false };
