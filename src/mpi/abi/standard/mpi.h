// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The standard ABI (MPI 5.0, chapter 20): libmpi_abi.so, of whichever library. Handles are pointers,
// predefined ones small numbers. What a status keeps for the library itself is not standardized (status.hpp).
#pragma once

#include <cstdint>

#define NIGH_ABI_STANDARD 1
#define MPI_VERSION 5  // what the declarations are of; the library may be older
#define MPI_SUBVERSION 0

using MPI_Fint = int;
using MPI_Aint = std::intptr_t;
using MPI_Offset = std::int64_t;
using MPI_Count = std::int64_t;
using MPI_Comm = struct MPI_ABI_Comm*;
using MPI_Datatype = struct MPI_ABI_Datatype*;
using MPI_Errhandler = struct MPI_ABI_Errhandler*;
using MPI_File = struct MPI_ABI_File*;
using MPI_Group = struct MPI_ABI_Group*;
using MPI_Info = struct MPI_ABI_Info*;
using MPI_Message = struct MPI_ABI_Message*;
using MPI_Op = struct MPI_ABI_Op*;
using MPI_Request = struct MPI_ABI_Request*;
using MPI_Session = struct MPI_ABI_Session*;
using MPI_Win = struct MPI_ABI_Win*;

struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
};

#include "mpi/abi/declarations.inc"

#define MPI_IN_PLACE ((void*)1)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function*)0)
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function*)0)
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function*)0)
extern "C" MPI_Comm MPI_Comm_fromint(int comm);
#define MPI_Comm_f2c(comm) MPI_Comm_fromint(comm)

#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)

#define MPI_GROUP_NULL ((MPI_Group)0x108)

#define MPI_WIN_NULL ((MPI_Win)0x110)

#define MPI_INFO_NULL ((MPI_Info)0x130)

#define MPI_REQUEST_NULL ((MPI_Request)0x180)

#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x129)

#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0x140)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)

#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_MAX ((MPI_Op)0x23)
#define MPI_MIN ((MPI_Op)0x22)
#define MPI_SUM ((MPI_Op)0x21)
#define MPI_PROD ((MPI_Op)0x24)
#define MPI_LAND ((MPI_Op)0x30)
#define MPI_BAND ((MPI_Op)0x28)
#define MPI_LOR ((MPI_Op)0x31)
#define MPI_BOR ((MPI_Op)0x29)
#define MPI_LXOR ((MPI_Op)0x32)
#define MPI_BXOR ((MPI_Op)0x2a)
#define MPI_MINLOC ((MPI_Op)0x38)
#define MPI_MAXLOC ((MPI_Op)0x39)
#define MPI_REPLACE ((MPI_Op)0x3c)
#define MPI_NO_OP ((MPI_Op)0x3d)

#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_CHAR ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x245)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_WCHAR ((MPI_Datatype)0x23c)
#define MPI_SHORT ((MPI_Datatype)0x208)
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x20c)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_UNSIGNED ((MPI_Datatype)0x20d)
#define MPI_LONG ((MPI_Datatype)0x20a)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x20e)
#define MPI_LONG_LONG ((MPI_Datatype)0x20b)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x20f)
#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x220)
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_UINT32_T ((MPI_Datatype)0x251)
#define MPI_UINT64_T ((MPI_Datatype)0x259)
#define MPI_AINT ((MPI_Datatype)0x201)
#define MPI_OFFSET ((MPI_Datatype)0x203)
#define MPI_COUNT ((MPI_Datatype)0x202)
#define MPI_C_BOOL ((MPI_Datatype)0x238)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x212)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x216)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x224)
#define MPI_CXX_BOOL ((MPI_Datatype)0x239)
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x213)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x217)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_FLOAT_INT ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x229)
#define MPI_LONG_INT ((MPI_Datatype)0x22a)
#define MPI_SHORT_INT ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x22d)
#define MPI_2INT ((MPI_Datatype)0x22b)
#define MPI_2INTEGER ((MPI_Datatype)0x232)
#define MPI_2REAL ((MPI_Datatype)0x230)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x231)
#define MPI_CHARACTER ((MPI_Datatype)0x21e)
#define MPI_LOGICAL ((MPI_Datatype)0x218)
#define MPI_INTEGER ((MPI_Datatype)0x219)
#define MPI_INTEGER1 ((MPI_Datatype)0x2c1)
#define MPI_INTEGER2 ((MPI_Datatype)0x2c9)
#define MPI_INTEGER4 ((MPI_Datatype)0x2d1)
#define MPI_INTEGER8 ((MPI_Datatype)0x2d9)
#define MPI_REAL ((MPI_Datatype)0x21a)
#define MPI_REAL4 ((MPI_Datatype)0x2d2)
#define MPI_REAL8 ((MPI_Datatype)0x2da)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x21c)
#define MPI_COMPLEX ((MPI_Datatype)0x21b)
#define MPI_COMPLEX8 ((MPI_Datatype)0x2db)
#define MPI_COMPLEX16 ((MPI_Datatype)0x2e3)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x21d)

#define MPI_SUCCESS 0
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_REQUEST 7
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_IN_STATUS 19
#define MPI_ERR_PENDING 18
#define MPI_ERR_NO_MEM 39
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-2)
#define MPI_PROC_NULL (-3)
#define MPI_ROOT (-4)
#define MPI_UNDEFINED (-32766)
#define MPI_KEYVAL_INVALID 0
#define MPI_TAG_UB 501
#define MPI_WIN_MODEL 605
#define MPI_WIN_UNIFIED 321
#define MPI_MODE_NOCHECK 1024
#define MPI_LOCK_EXCLUSIVE 301
#define MPI_LOCK_SHARED 302
#define MPI_MODE_NOPRECEDE 2048
#define MPI_MODE_NOSUCCEED 16384
#define MPI_WIN_CREATE_FLAVOR 604
#define MPI_WIN_FLAVOR_ALLOCATE 312
#define MPI_COMM_TYPE_SHARED 221
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1024
#define MPI_THREAD_SERIALIZED 2048
#define MPI_THREAD_MULTIPLE 4096
#define MPI_CART 211
#define MPI_GRAPH 212
#define MPI_DIST_GRAPH 213
#define MPI_ORDER_FORTRAN 15
#define MPI_DISTRIBUTE_BLOCK 17
#define MPI_DISTRIBUTE_NONE 16
#define MPI_DISTRIBUTE_DFLT_DARG 19
#define MPI_COMBINER_NAMED 101
#define MPI_COMBINER_DUP 102
#define MPI_COMBINER_CONTIGUOUS 103
#define MPI_COMBINER_VECTOR 104
#define MPI_COMBINER_HVECTOR 105
#define MPI_COMBINER_INDEXED 106
#define MPI_COMBINER_HINDEXED 107
#define MPI_COMBINER_INDEXED_BLOCK 108
#define MPI_COMBINER_HINDEXED_BLOCK 109
#define MPI_COMBINER_STRUCT 110
#define MPI_COMBINER_SUBARRAY 111
#define MPI_COMBINER_DARRAY 112
#define MPI_COMBINER_F90_REAL 113
#define MPI_COMBINER_F90_COMPLEX 114
#define MPI_COMBINER_F90_INTEGER 115
#define MPI_COMBINER_RESIZED 116
#define MPI_COMBINER_VALUE_INDEX 117
