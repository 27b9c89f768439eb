export const loginHelp = (server: string) => ({
  login: `Usage: holdfast login [--api URL]

Saves a server and an API key for all commands. Reads the key from a prompt or from standard input, and asks the server
whose it is. The file is holdfast/login.json in XDG_CONFIG_HOME or ~/.config, and only you can read it.
If a command has a key by --key or HOLDFAST_API_KEY, it ignores the file. The saved key goes to the saved server only.

  holdfast login --api https://pins.example.org

  --api URL        base of the server's API (HOLDFAST_API, default http://127.0.0.1:4100/api/v3)
  --help           this text`,

  logout: `Usage: holdfast logout

Deletes the saved server and key from this machine. The key itself stays valid.`,

  completion: `Usage: holdfast completion bash|zsh|fish

Prints a script that completes commands, flags and paths in a shell.

  source <(holdfast completion bash)                                        in ~/.bashrc
  source <(holdfast completion zsh)                                         in ~/.zshrc, after compinit
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish`,

  whoami: `Usage: holdfast whoami [flags]

Shows the server, the account, and the origin of the key.

${server}`,
})
