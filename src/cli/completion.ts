import { show } from '../base/show.ts';
import { type CommandHelp, commands, flagTexts, roles } from './commands.ts';
import { UsageError } from './context.ts';

/** A script that makes a shell complete commands, their words and their flags. */
export function completion(shell: string | undefined): string {
  switch (shell) {
    case 'bash':
      return bash();
    case 'zsh':
      // zsh takes scripts of bash when it is told to.
      return [
        'autoload -Uz compinit bashcompinit',
        '(( $+functions[compdef] )) || compinit',
        'bashcompinit',
        bash(),
      ].join('\n');
    case 'fish':
      return fish();
    default:
      throw new UsageError(`completion takes bash, zsh or fish; not ${show(shell ?? '')}`);
  }
}

const all = Object.entries(commands as Readonly<Record<string, CommandHelp>>);

const first = [...all.map(([name]) => name), ...Object.keys(roles), 'help', 'version'];

function wordsAfter({ words = [], flags }: CommandHelp): readonly string[] {
  return [...words, ...flags.map((flag) => `--${flag}`), '--help'];
}

function bash(): string {
  const cases = all.map(([name, help]) => `    ${name}) words='${wordsAfter(help).join(' ')}' ;;`);
  return `_quarry() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words=''
  case $previous in
    --file|--kubeconfig|--csi-socket) COMPREPLY=($(compgen -f -- "$current")); return ;;
    --state-dir) COMPREPLY=($(compgen -d -- "$current")); return ;;
    --output|-o)
      if [ "\${COMP_WORDS[1]}" = gather ]; then COMPREPLY=($(compgen -d -- "$current"))
      else COMPREPLY=($(compgen -W 'json yaml wide' -- "$current")); fi
      return ;;
  esac
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -le 1 ]; then words='${first.join(' ')}'; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _quarry quarry`;
}

function fish(): string {
  const alone = '__fish_use_subcommand';
  const names = all.map(([name, { calls }]) => {
    const [[, text] = ['', '']] = calls;
    return `complete -c quarry -n ${alone} -f -a ${name} -d ${quoted(text)}`;
  });
  const stays = Object.entries(roles).map(
    ([name, text]) => `complete -c quarry -n ${alone} -f -a ${name} -d ${quoted(text)}`,
  );
  const rest = all.flatMap(([name, { words = [], flags }]) => {
    const of = `complete -c quarry -n '__fish_seen_subcommand_from ${name}'`;
    return [
      ...(words.length === 0 ? [] : [`${of} -f -a ${quoted(words.join(' '))}`]),
      ...flags.map((flag) => {
        const [value, text] = flagTexts[flag];
        return `${of} -l ${flag}${value === '' ? '' : ' -r'} -d ${quoted(text)}`;
      }),
    ];
  });
  return [...names, ...stays, ...rest].join('\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
