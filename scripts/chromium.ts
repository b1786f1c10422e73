import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const candidates = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/opt/google/chrome/chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/**
 * Disabled features of Chromium: those that Playwright disables, because only the last `--disable-features` counts, and
 * the two pages of the address bar's popup. A headless browser never shows them, but loads both for each context, which
 * takes a second of CPU time.
 */
const disabledFeatures = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "TcpPortRandomizationWin",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "msForceBrowserSignIn",
  "msEdgeUpdateLaunchServicesPreferredVersion",
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
];

/** Without these flags, a headless Chromium without a network keeps looking for hosts of its maker. */
export const chromiumFlags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${disabledFeatures.join()}`,
];

/** Finds the path of a Chromium on this machine. */
export function findChromium(): string | undefined {
  return candidates.find((path) => path && existsSync(path));
}

/**
 * Returns the path of a Chromium. Without one, installs the distribution's package if this is root on Debian or Ubuntu,
 * else names the command.
 */
export function installChromium(): string | undefined {
  const found = findChromium();
  if (found) return found;
  const packages = ["chromium", "fonts-noto-color-emoji"];
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    const line = `No Chromium: the browser tests do not run. Install one (apt install ${packages.join(" ")}), or set CHROMIUM to its path.`;
    console.log(colorYellow(`⚠ ${line}`));
    return undefined;
  }
  console.log(`No Chromium: apt-get install ${packages.join(" ")}`);
  runApt("update", "-qq");
  runApt("install", "-y", "-qq", "--no-install-recommends", ...packages);
  return findChromium();
}

/** Colors a line of a terminal. */
export function colorYellow(line: string): string {
  return process.stdout.isTTY ? `\x1b[33m${line}\x1b[39m` : line;
}

function runApt(...args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  spawnSync("apt-get", args, { env, stdio: ["ignore", "ignore", "inherit"] });
}
