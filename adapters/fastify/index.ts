export { frameworkErrors, type HoldfastPluginOptions, holdfast, holdfast as default } from './plugin.ts'
