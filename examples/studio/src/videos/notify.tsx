import { useTaskNotifications } from "@sluice/react/notifications";
import { Bell, BellRing } from "lucide-react";
import { useState } from "react";
import { storage } from "../client.js";
import { notificationWords } from "../room-words.js";
import { Chip } from "../ui/button.js";

const options = { storage };

/** Turns on notifications of finished videos. The browser asks for the permission after the click, and not before. */
export function Notify() {
  const { permission, isEnabled, mode, enable, disable } = useTaskNotifications(options);
  const [isBusy, setBusy] = useState(false);
  const isBlocked = permission === "denied" || permission === "unsupported";
  const change = async () => {
    setBusy(true);
    await (isEnabled ? disable() : enable());
    setBusy(false);
  };
  return (
    <div className="-mb-2 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
      {!isBlocked && (
        <Chip
          isPressed={isEnabled}
          aria-disabled={isBusy || undefined}
          onClick={() => void (!isBusy && change())}
        >
          {isEnabled ? <BellRing aria-hidden /> : <Bell aria-hidden />}
          Tell me when it is ready
        </Chip>
      )}
      <span role="status">{notificationWords({ permission, mode, isTurningOn: isBusy && !isEnabled })}</span>
    </div>
  );
}
