/** The frames of iSCSI (RFC 7143): a 48 byte header and a data segment padded to four bytes. */

export const request = {
  nop: 0x00,
  scsi: 0x01,
  taskManagement: 0x02,
  login: 0x03,
  text: 0x04,
  dataOut: 0x05,
  logout: 0x06,
} as const;

export const response = {
  nop: 0x20,
  scsi: 0x21,
  taskManagement: 0x22,
  login: 0x23,
  text: 0x24,
  dataIn: 0x25,
  logout: 0x26,
  readyToTransfer: 0x31,
} as const;

export const headerBytes = 48;
export const noTag = 0xffff_ffff;
const dataBytesMax = 16 * 1024 * 1024;

export type Pdu = { readonly header: Buffer; readonly data: Buffer };

export function opcodeOf(header: Buffer): number {
  return (header[0] ?? 0) & 0x3f;
}

export function isImmediate(header: Buffer): boolean {
  return ((header[0] ?? 0) & 0x40) !== 0;
}

export function flagsOf(header: Buffer): number {
  return header[1] ?? 0;
}

export function unitOf(header: Buffer): number {
  return (((header[8] ?? 0) & 0x3f) << 8) | (header[9] ?? 0);
}

export function taskTagOf(header: Buffer): number {
  return header.readUInt32BE(16);
}

/** Cuts a stream of bytes into frames. */
export class PduReader {
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  #wantBytes = headerBytes;

  /** Throws when the bytes cannot be iSCSI. */
  *push(chunk: Buffer): Generator<Pdu> {
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    while (this.#bufferedBytes >= this.#wantBytes) {
      const [only] = this.#chunks;
      const all = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks);
      this.#chunks = [all];
      const additionalBytes = (all[4] ?? 0) * 4;
      const dataBytes = all.readUIntBE(5, 3);
      if (dataBytes > dataBytesMax) throw new Error(`a data segment of ${dataBytes} bytes`);
      const dataStart = headerBytes + additionalBytes;
      const totalBytes = dataStart + Math.ceil(dataBytes / 4) * 4;
      if (all.length < totalBytes) {
        this.#wantBytes = totalBytes;
        return;
      }
      const rest = all.subarray(totalBytes);
      this.#chunks = rest.length > 0 ? [rest] : [];
      this.#bufferedBytes = rest.length;
      this.#wantBytes = headerBytes;
      yield {
        header: all.subarray(0, headerBytes),
        data: all.subarray(dataStart, dataStart + dataBytes),
      };
    }
  }
}

export function pduHeader(opcode: number, flags: number, taskTag: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  header[0] = opcode;
  header[1] = flags;
  header.writeUInt32BE(taskTag, 16);
  return header;
}

/** Completes the header with the length and hands back the pieces to send. */
export function framePieces(header: Buffer, data: Buffer): readonly Buffer[] {
  header.writeUIntBE(data.length, 5, 3);
  if (data.length === 0) return [header];
  const padding = -data.length & 3;
  return padding === 0 ? [header, data] : [header, data, Buffer.alloc(padding)];
}
