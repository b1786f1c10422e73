"use client";

import { type TaskNotificationOptions, useTaskNotifications } from "@sluice/react/notifications";
import { Bell, BellRing } from "lucide-react";
import { useState } from "react";
import { Chip } from "@/components/sluice/button";
import { notificationWords } from "@/components/sluice/media-words";

interface TaskNotificationsProps {
  /** Storage of the tasks: that of the hooks that show them. */
  readonly storage?: TaskNotificationOptions["storage"];
  readonly words?: Partial<typeof notificationWords>;
}

/** Turns on notifications of finished videos. The browser asks for the permission after the press, and not before. */
export function TaskNotifications({ storage, ...props }: TaskNotificationsProps) {
  const words = { ...notificationWords, ...props.words };
  const { permission, isEnabled, mode, enable, disable } = useTaskNotifications(storage ? { storage } : {});
  const [isBusy, setBusy] = useState(false);
  const isBlocked = permission === "denied" || permission === "unsupported";
  const change = async () => {
    setBusy(true);
    await (isEnabled ? disable() : enable());
    setBusy(false);
  };
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted-foreground">
      {!isBlocked && (
        <Chip
          isPressed={isEnabled}
          aria-disabled={isBusy || undefined}
          onClick={() => void (!isBusy && change())}
        >
          {isEnabled ? <BellRing aria-hidden /> : <Bell aria-hidden />}
          {words.enable}
        </Chip>
      )}
      <span role="status">{words.state({ permission, mode, isTurningOn: isBusy && !isEnabled })}</span>
    </div>
  );
}
