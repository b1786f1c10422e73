import { useStore } from "@nanostores/react";
import { SlidersHorizontal } from "lucide-react";
import { IconButton } from "@/components/sluice/button";
import { ModelMenu } from "@/components/sluice/model-menu";
import { ModelSettings } from "@/components/sluice/model-settings";
import { Popover } from "@/components/sluice/popups";
import { changeSettings, chatSettings, models } from "./chat-settings.js";

/** The model of the next response, and its settings. */
export function ChatControls() {
  const settings = useStore(chatSettings);
  const { model } = settings;
  return (
    <>
      <ModelMenu models={models} model={model} onChange={(next) => changeSettings({ model: next })} />
      <Popover
        title="Settings"
        trigger={
          <IconButton label="Settings">
            <SlidersHorizontal aria-hidden />
          </IconButton>
        }
      >
        <ModelSettings model={model} settings={settings} onChange={changeSettings} />
      </Popover>
    </>
  );
}
