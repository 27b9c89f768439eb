import { API_FLAGS, type CommandSpec } from './command-spec.ts'

export const LOGIN_COMMANDS = {
  login: {
    about: 'Save a server and an API key for all commands',
    text: `Saves a server and an API key for all commands. Reads the key from a prompt or from standard input, and asks the server
whose it is. The file is holdfast/login.json in XDG_CONFIG_HOME or ~/.config, and only you can read it.
If a command has a key by --key or HOLDFAST_API_KEY, it ignores the file. The saved key goes to the saved server only.`,
    examples: ['holdfast login --api https://pins.example.org'],
    flags: { api: API_FLAGS.api },
  },
  whoami: {
    about: 'Show the server and account of your key',
    text: 'Shows the server, the account, and the origin of the key.',
    flags: API_FLAGS,
  },
  logout: {
    about: 'Delete the saved server and key',
    text: 'Deletes the saved server and key from this machine. The key itself stays valid.',
    flags: {},
  },
  completion: {
    about: 'Print a script that completes commands in a shell',
    text: 'Prints a script that completes commands, flags and paths in a shell.',
    examples: [
      'source <(holdfast completion bash)                                        in ~/.bashrc',
      'source <(holdfast completion zsh)                                         in ~/.zshrc, after compinit',
      'holdfast completion fish > ~/.config/fish/completions/holdfast.fish',
    ],
    words: { usage: 'bash|zsh|fish', what: 'bash, zsh or fish', min: 1, max: 1, choices: ['bash', 'zsh', 'fish'] },
    flags: {},
  },
} as const satisfies Record<string, CommandSpec>
