/**
 * In the bundle this stands for @grpc/proto-loader, which grpc-js loads at its start for a service
 * that nobody here offers: it and protobufjs would stay resident in every process.
 */
export function loadSync(file: string): never {
  throw new Error(`${file} cannot be loaded: the bundle has no protobufjs`);
}
