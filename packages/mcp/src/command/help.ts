/** Text of `sluice --help`. */
export const HELP = `Chats, draws and makes videos through the gateway.

  sluice chat  "Why is the sky blue?"   an answer, as it is written
  sluice image "A reef at dawn"         pictures, saved in this folder
  sluice video "A reef at dawn"         a video, with its progress
  sluice video --resume <id>            goes on waiting for a paid video
  sluice mcp                            a server of tools for agents (MCP)
  sluice completion bash|zsh|fish       a script for the Tab key of your shell

  --model <id>            the model (default: the newest of its kind)
  --set <field>=<value>   any other field of the request: parameters.duration=5
  --system <text>         chat: instructions before the question
  --size <w>x<h>          image: width and height, in pixels
  --out <folder>          image, video: folder of the files (default: this one)
  --no-wait               video: starts it, prints its id, and ends
  --resume <id>           video: the id of a task that was started before
  --models <ids>          mcp: models with a tool, with commas (default: all)
  --folder <folder>       mcp: folder of the files (default: results are links)
  --json                  one JSON value on the output, for programs
  --base-url <address>    the gateway or a proxy (default: $GATEWAY_URL)
  --version, --help

A question that is "-" is read from the input.

Environment:
  GATEWAY_URL       address of the gateway, or of a proxy before it
  GATEWAY_API_KEY   key of the gateway, never an argument: others can see those
  PROXY_TOKEN       token for a proxy, which has the key itself

It ends with
  0   done
  1   refused or failed; nothing was billed
  2   a mistake in the arguments; nothing was sent
  3   it may be billed: look at the account before you try again
  4   the video is not ready yet; it goes on, and --resume waits for it
  130 stopped by Ctrl+C

Without a key and free of charge, from the emulator's package:
  npx sluice-emulator -- npx -p @sluice/mcp sluice image "A reef at dawn"
`;

/** Text of `sluice-mcp --help`. */
export const MCP_HELP = `A server of the Model Context Protocol over stdio, with tools that chat, draw,
make videos and register assets.

  sluice-mcp [options]         for the configuration of an agent; not for people

  --models <ids>          models that get a tool, with commas (default: all)
  --folder <folder>       folder of the files (default: results are links)
  --base-url <address>    the gateway or a proxy (default: $GATEWAY_URL)
  --version, --help

The key is in the environment alone: GATEWAY_API_KEY for the gateway, or
PROXY_TOKEN for a proxy.
`;
