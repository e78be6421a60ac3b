/** The same for a snapshot of the volume that it is like. */
export function withQueuedSnapshot(backup: string, like: string, name: string): string {
  const end = new RegExp(`(\\t\\t${name} \\{[\\s\\S]*?device_id = \\d+\\n)`);
  const text = withQueuedMessage(backup, like, name);
  return text.replace(end, `$1\t\t\t\torigin = "${like}"\n`);
}

/**
 * LVM's metadata text as it is after lvm noted that it will make a thin volume, and before it told
 * the pool: the volume is there, the pool's transaction is one further, the message waits.
 */
export function withQueuedMessage(backup: string, like: string, name: string): string {
  const model = new RegExp(`\\n\\t\\t${like} \\{[\\s\\S]*?\\n\\t\\t\\}\\n`).exec(backup)?.[0];
  if (model === undefined) throw new Error(`there is no volume ${like} in this text`);
  const volume = model
    .replace(`\t\t${like} {`, `\t\t${name} {`)
    .replace(/id = "[^"]+"/, 'id = "ue6Nu0-rPnK-Cu2U-c1eK-n2jf-KFZy-uLNuC0"')
    .replace(/transaction_id = (\d+)/, (_all, id: string) => `transaction_id = ${Number(id) + 1}`)
    .replace(/device_id = (\d+)/, (_all, id: string) => `device_id = ${Number(id) + 1}`);
  const message = `\n\t\t\t\tmessage1 {\n\t\t\t\t\tcreate = "${name}"\n\t\t\t\t}\n`;
  return backup
    .replace(
      /(type = "thin-pool"[\s\S]*?transaction_id = )(\d+)([\s\S]*?zero_new_blocks = 1\n)/,
      (_all, before: string, id: string, after: string) =>
        `${before}${Number(id) + 1}${after}${message}`,
    )
    .replace(model, `${model}${volume}`);
}
