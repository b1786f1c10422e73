"use client";
export { useTaskNotifications } from "../notifications/index.js";
