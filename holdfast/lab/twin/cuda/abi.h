/* The parts of the CUDA runtime's binary interface that the twin implements: numbers and record layouts only.
 * With NVIDIA_HEADER the vendor's declarations replace them, and the compiler compares both. */
#ifndef HOLDFAST_TWIN_CUDA_ABI_H
#define HOLDFAST_TWIN_CUDA_ABI_H

#include <stddef.h>

#ifdef NVIDIA_HEADER
#include <cuda_runtime_api.h>
#else
typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorDeviceUninitialized = 201,
    cudaErrorMapBufferObjectFailed = 205,
    cudaErrorPeerAccessUnsupported = 217,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorUnknown = 999
} cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost = 0, cudaMemcpyDefault = 4 };
typedef struct CUstream_st *cudaStream_t;
#define CUDA_IPC_HANDLE_SIZE 64
typedef struct cudaIpcMemHandle_st {
    char reserved[CUDA_IPC_HANDLE_SIZE];
} cudaIpcMemHandle_t;
#define cudaIpcMemLazyEnablePeerAccess 1
#endif

#include "state.h"

#define API __attribute__((visibility("default")))

/* runtime.c: the state file, the current device of this thread, and its last error. */
struct cudastate *twin_state(void);
int current_device(void);
cudaError_t device_answers(int device);
cudaError_t returned(cudaError_t answer);

#endif
