import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromiumFlags, findChromium } from "../../scripts/chromium.ts";

/*
 * The browsers of this machine. Each opens a page without a window, in a new profile.
 */

/** A browser that can be on a machine. */
export interface Browser {
  readonly name: string;
  /** Name of the program to install where it is missing. */
  readonly needs: string;
  /** Its version; undefined where it is missing. */
  readonly version: () => string | undefined;
  /** True where the browser reads a response ahead, however slow its reader is. @default false */
  readonly readsAhead?: boolean;
  /** The command that opens a page. */
  readonly command: (url: string, profile: string) => readonly string[];
}

const miniBrowser = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/libexec"]
  .flatMap((folder) => [`${folder}/webkit2gtk-4.1/MiniBrowser`, `${folder}/webkit2gtk-4.0/MiniBrowser`])
  .find((path) => existsSync(path));

export const browsers: readonly Browser[] = [
  {
    name: "Chromium",
    needs: "Debian's `chromium`",
    version: () => readVersion(findChromium()),
    command: (url, profile) => [
      ...[findChromium() ?? "", "--headless", ...chromiumFlags],
      ...[`--user-data-dir=${profile}`, url],
    ],
  },
  {
    name: "Firefox",
    needs: "Debian's `firefox-esr`",
    version: () => readVersion("firefox-esr"),
    readsAhead: true,
    command: (url, profile) => ["firefox-esr", "--headless", "--no-remote", "--profile", profile, url],
  },
  {
    name: "WebKitGTK",
    needs: "Debian's `webkit2gtk-driver` and `xvfb`",
    version: () =>
      miniBrowser && readVersion("xvfb-run", "--help") !== undefined
        ? // biome-ignore lint/suspicious/noTemplateCurlyInString: a format of dpkg's
          readVersion("dpkg-query", "--showformat=${Version}", "--show", "libwebkit2gtk-4.1-0")
        : undefined,
    readsAhead: true,
    command: (url) => ["xvfb-run", "-a", miniBrowser ?? "", url],
  },
];

/** Opens a page, and closes the browser when `work` has ended. */
export async function withPage<Result>(
  { name, command }: Browser,
  url: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const profile = mkdtempSync(join(tmpdir(), "sluice-browser-"));
  const [program = "", ...args] = command(url, profile);
  const child = spawn(program, args, {
    detached: true, // so that all its processes can be ended
    stdio: "ignore",
    env: { ...process.env, HOME: profile, GTK_A11Y: "none" },
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const crashed = exited.then((): never => {
    throw new Error(`${name} ended before its page did`);
  });
  try {
    return await Promise.race([work(), crashed]);
  } finally {
    crashed.catch(() => {});
    if (child.exitCode === null && child.pid) process.kill(-child.pid, "SIGKILL");
    await exited;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

function readVersion(program: string | undefined, ...flags: readonly string[]): string | undefined {
  if (!program) return undefined;
  const { status, stdout } = spawnSync(program, flags.length > 0 ? flags : ["--version"], {
    encoding: "utf8",
  });
  return status === 0 ? (/\d+(?:\.\d+)+\w*/.exec(stdout)?.[0] ?? "") : undefined;
}
