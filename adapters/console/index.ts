export { type ConsoleEngine, type ConsoleOptions, createConsole } from './console-handler.ts'
