import { Tabs as Base } from "@base-ui/react/tabs";
import { useStore } from "@nanostores/react";
import { Download, ExternalLink } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button, Chip } from "@/components/sluice/button";
import { CopyButton } from "@/components/sluice/copy-button";
import { Highlighted } from "@/components/sluice/highlighted-code";
import { keptAtom, useOnline } from "../browser.js";
import { client } from "../client.js";
import { codeWords } from "../room-words.js";
import { isHosted } from "../server.js";
import { inspectorView } from "../shell/commands.js";
import { toast } from "../ui/popups.js";
import { roomWords } from "../words.js";
import { inspected, type Work } from "./feed.js";
import { NetworkView } from "./network-view.js";
import { proxyAt } from "./snippets/parts.js";
import { snippet, type Target } from "./snippets/snippet.js";
import { StateView } from "./tree.js";

/** The panel that shows the code, the requests and the state of the running room. */
export function Inspector() {
  const view = useStore(inspectorView);
  return (
    <Tabs
      label="Inspector"
      value={view}
      onChange={inspectorView.set}
      tabs={[
        { value: "code", label: "Code", content: <CodeView /> },
        { value: "network", label: "Network", content: <NetworkView /> },
        { value: "state", label: "State", content: <StateView /> },
      ]}
    />
  );
}

const labels: Readonly<Record<Target, string>> = {
  react: "React",
  script: "Script",
  worker: "Worker",
  curl: "curl",
};
const targets = Object.entries(labels) as [Target, string][];

/** The chosen language; the browser keeps it between visits. */
const chosenTarget = keptAtom<Target>(
  "sluice-inspector-language",
  "react",
  (kept): kept is Target => typeof kept === "string" && Object.hasOwn(labels, kept),
);

/** Address that stands for the reader's Worker: that of a hosted page answers no other page, and no shell. */
const READERS_WORKER = "https://app.example.com/api";

/** The code that does what the room does now, with its settings. */
function CodeView() {
  const shown = useStore(inspected);
  const target = useStore(chosenTarget);
  if (!shown) return null;
  const code = snippet(shown.work, target, proxyAt(isHosted ? READERS_WORKER : client.baseURL));
  return (
    <>
      <div className="flex items-center justify-between gap-2 p-2 pb-0">
        <fieldset className="flex min-w-0 flex-wrap gap-1">
          <legend className="sr-only">Language</legend>
          {targets.map(([name, label]) => (
            <Chip
              key={name}
              isPressed={name === target}
              className="border-transparent px-2.5 text-xs"
              onClick={() => chosenTarget.set(name)}
            >
              {label}
            </Chip>
          ))}
        </fieldset>
        <CopyButton key={code} text={code} />
      </div>
      <section
        aria-label="Code"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by the keyboard
        tabIndex={0}
        className="grow overflow-x-auto bg-canvas p-4 font-mono text-xs -outline-offset-2"
      >
        <pre className="font-mono">
          <Highlighted code={code} language={target === "curl" ? "shellscript" : "tsx"} />
        </pre>
      </section>
      <TakeHome work={shown.work} target={target} />
    </>
  );
}

/** The code as a project that runs, to save or to open elsewhere. */
function TakeHome({ work, target }: { readonly work: Work; readonly target: Target }) {
  // a server on this machine answers without a network; StackBlitz does not
  const isOnline = useOnline();
  const [isMaking, setIsMaking] = useState(false);
  const take = async (way: "saveProject" | "openInStackBlitz") => {
    setIsMaking(true);
    try {
      const project = await import("./snippets/project.js");
      project[way](project.projectOf(work, target));
    } catch {
      toast(roomWords.partUnloadable);
    }
    setIsMaking(false);
  };
  return (
    <footer className="flex flex-wrap items-center gap-2 border-t p-2">
      <Button disabled={isMaking} onClick={() => void take("saveProject")}>
        <Download aria-hidden />
        Save as project
      </Button>
      {/* a Worker and a shell do not run in a browser */}
      {isOnline && (target === "react" || target === "script") && (
        <Button look="quiet" disabled={isMaking} onClick={() => void take("openInStackBlitz")}>
          <ExternalLink aria-hidden />
          Open in StackBlitz
        </Button>
      )}
      <p className="w-full px-1 text-xs text-muted">{codeWords(isHosted)}</p>
    </footer>
  );
}

interface TabsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly tabs: readonly { readonly value: Value; readonly label: ReactNode; readonly content: ReactNode }[];
}

/** Several views of one thing, one at a time. */
function Tabs<Value extends string>({ label, value, onChange, tabs }: TabsProps<Value>) {
  return (
    <Base.Root
      value={value}
      onValueChange={(chosen) => onChange(chosen as Value)}
      className="flex min-h-0 grow flex-col"
    >
      <Base.List aria-label={label} className="relative flex shrink-0 gap-1 border-b px-2">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className="control px-2 text-sm text-muted -outline-offset-2 hover:text-foreground data-active:text-ink"
          >
            {tab.label}
          </Base.Tab>
        ))}
        <Base.Indicator className="absolute bottom-0 left-(--active-tab-left) h-0.5 w-(--active-tab-width) bg-accent transition-all" />
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel
          key={tab.value}
          value={tab.value}
          className="flex min-h-0 grow flex-col overflow-y-auto -outline-offset-2"
        >
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
