import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { client } from "../client.js";
import { Button } from "../ui/button.js";
import { Chip } from "../ui/chip.js";
import { useValue } from "../value.js";
import { Highlighted } from "./highlighted.js";
import { inspected } from "./inspected.js";
import { snippet, type Target } from "./snippets/snippet.js";

const labels: Readonly<Record<Target, string>> = {
  react: "React",
  script: "Script",
  worker: "Worker",
  curl: "curl",
};
const targets = Object.entries(labels) as [Target, string][];

/** The code that does what the room does now, with its settings. */
export function CodeView() {
  const shown = useValue(inspected);
  const [target, setTarget] = useState<Target>("react");
  if (!shown) return null;
  const code = snippet(shown.work, target, client.baseURL);
  return (
    <>
      <div className="flex items-center justify-between gap-2 p-2 pb-0">
        <fieldset className="flex gap-1">
          <legend className="sr-only">Language</legend>
          {targets.map(([name, label]) => (
            <Chip
              key={name}
              isPressed={name === target}
              className="border-transparent px-2.5 text-xs"
              onClick={() => setTarget(name)}
            >
              {label}
            </Chip>
          ))}
        </fieldset>
        <CopyButton key={code} text={code} />
      </div>
      <Highlighted code={code} language={target === "curl" ? "shellscript" : "tsx"} />
      <p className="mt-auto border-t p-4 text-xs text-muted">
        Runs as it is. It follows the settings of this room.
      </p>
    </>
  );
}

function CopyButton({ text }: { readonly text: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = () => void navigator.clipboard.writeText(text).then(() => setIsCopied(true));
  return (
    <Button look="quiet" onClick={copy}>
      {isCopied ? <Check aria-hidden /> : <Copy aria-hidden />}
      {isCopied ? "Copied" : "Copy"}
    </Button>
  );
}
