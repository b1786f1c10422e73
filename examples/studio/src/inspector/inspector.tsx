import { useState } from "react";
import { Tabs } from "../ui/tabs.js";
import { CodeView } from "./code-view.js";
import { NetworkView } from "./network-view.js";
import { StateView } from "./tree.js";

type View = "code" | "network" | "state";

/** The panel that shows the code, the requests and the state of the running room. */
export function Inspector() {
  const [view, setView] = useState<View>("code");
  return (
    <Tabs
      label="Inspector"
      value={view}
      onChange={setView}
      tabs={[
        { value: "code", label: "Code", content: <CodeView /> },
        { value: "network", label: "Network", content: <NetworkView /> },
        { value: "state", label: "State", content: <StateView /> },
      ]}
    />
  );
}
