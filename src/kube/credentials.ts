/** Where the API server is. */
export type Endpoint = {
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
  /** What stands before every path, '' for most. */
  readonly prefix: string;
  /** The name its certificate has, where that is not the host. */
  readonly serverName?: string | undefined;
  readonly isInsecure: boolean;
};

/** What opens it, in this moment. */
export type Access = {
  readonly token?: string | undefined;
  /** PEM, as are the two below. */
  readonly ca?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
};

export type Credentials = {
  /** Cheap: what was read is kept until it may have changed. */
  current(): Promise<Access>;
  /** The server did not take them. */
  refuse(): void;
};

export type Connection = { readonly endpoint: Endpoint; readonly credentials: Credentials };
