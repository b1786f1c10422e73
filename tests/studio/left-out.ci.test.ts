import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

/* The build leaves out most grammars of its highlighter (`leaveOut` in examples/studio/vite.config.ts). */

const FENCE = "```";
const fenced = (language: string, code: string) => `${FENCE}${language}\n${code}\n${FENCE}`;

describe.skipIf(!hasChromium)(
  "what the studio's build leaves out, in Chromium (skipped where there is none)",
  () => {
    const replies: Readonly<Record<string, string>> = {
      languages: [fenced("rust", 'fn main() { println!("hi"); }'), fenced("cobol", "DISPLAY 'hi'.")].join(
        "\n\n",
      ),
    };
    const studio = openRoom("chat", {
      speed: Number.POSITIVE_INFINITY,
      chat: ({ messages }) => replies[String(messages.at(-1)?.content)] ?? "",
    });
    const code = (language: string) => studio.page.getByRole("figure", { name: `Code: ${language}` });

    async function sendMessage(question: string): Promise<void> {
      await studio.field("Message").fill(question);
      await studio.field("Message").press("Enter");
    }

    test("Code in a usual language has colours, and code in a rare one is plain", async () => {
      await sendMessage("languages");
      await expect.poll(() => code("rust").locator("code span[style]").count()).toBeGreaterThan(3);
      await code("cobol").getByText("DISPLAY 'hi'.").waitFor();
      await expect.poll(() => code("cobol").locator("code span[style*=color]").count()).toBe(0);
    });
  },
);
